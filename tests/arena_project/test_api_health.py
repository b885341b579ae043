"""The health of an installation, told without a key and without secrets."""

import pytest
from django.test import Client

from arena_project import api
from tests import factories

HEALTH = "/api/v1/health/"


@pytest.mark.django_db
def test_all_is_well() -> None:
    endpoint = factories.endpoint()
    factories.language_model(endpoint=endpoint)
    factories.language_model(endpoint=factories.endpoint(is_reachable=False))
    answer = Client().get(HEALTH)
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {"database": "ok", "cache": "ok", "broker": "ok", "models": "1 can answer"},
    }


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["database", "cache", "broker"])
def test_a_part_that_is_down_is_named_and_nothing_more(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ConnectionError("redis://user:secret@10.0.0.1")

    monkeypatch.setitem(api.NEEDED, part, fail)
    answer = Client().get(HEALTH)
    assert answer.status_code == 503
    assert answer.json()["status"] == "down"
    assert answer.json()["checks"][part] == "down"
    assert "secret" not in answer.content.decode()


def test_a_database_that_is_gone_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the database fixture every query is refused, as if there were none."""
    answer = Client().get(HEALTH)
    assert (answer.status_code, answer.json()["checks"]["database"]) == (503, "down")


@pytest.mark.django_db
def test_a_wrong_key_does_not_matter_here() -> None:
    assert Client().get(HEALTH, headers={"X-API-Key": "wrong"}).status_code == 200


@pytest.mark.django_db
def test_the_broker_behind_an_address_is_asked(settings: object) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"  # type: ignore[attr-defined]
    answer = Client().get(HEALTH)
    assert (answer.status_code, answer.json()["checks"]["broker"]) == (503, "down")
