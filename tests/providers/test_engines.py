"""Engines in the database: their endpoint, what the admin and the API show, and who waits for one that sleeps."""

import os
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from pytest_django.asserts import assertNumQueries  # type: ignore[attr-defined]

from providers.engines import engine_room
from providers.engines.services import (
    engine_desired_set,
    engine_endpoint_sync,
    engine_note,
    engine_wake,
    engines_put_to_sleep,
    engines_unseen_note,
)
from providers.engines.states import Report, State, Wanted
from providers.models import Engine, LanguageModel
from providers.selectors import target_for
from tests import factories
from tests.factories import engine, model_of
from tests.ports import free_port

pytestmark = pytest.mark.django_db


def test_a_new_engine_gets_its_endpoint_and_its_model_once() -> None:
    row = engine(model="/models/Qwen--Qwen2.5-7B", context=4096)
    model = model_of(row)
    assert (model.name, model.upstream_id, model.context_window) == ("Qwen2.5-7B", "small", 4096)
    assert model.endpoint
    assert model.endpoint.base_url == f"http://127.0.0.1:{row.port}/v1"
    assert not model.is_available, "it was never up"
    row.port = free_port()
    row.save()
    engine_endpoint_sync(engine=row)
    assert model_of(row).endpoint.base_url.endswith(f":{row.port}/v1")  # type: ignore[union-attr]
    assert LanguageModel.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"extra_arguments": "--max-num-seqs 64"}, "extra_arguments"),
        ({"extra_arguments": ["--max-num-seqs", 64]}, "extra_arguments"),
        ({"extra_arguments": ["--host=0.0.0.0"]}, "extra_arguments"),
        ({"model": "--trust-remote-code"}, "model"),
        ({"revision": "-x"}, "revision"),
        ({"gpus": "0;1"}, "gpus"),
        ({"gpus": "0", "tensor_parallel": 2}, "tensor_parallel"),
        ({"memory_share": 1.5}, "memory_share"),
        ({"port": 80}, "port"),
        ({"host": "a b"}, "host"),
    ],
)
def test_what_could_be_read_as_more_than_it_says_is_refused(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Engine(**{"slug": "a", "model": "plain", "port": 9000} | fields).full_clean()
    assert set(refused.value.message_dict) == {where}


def test_a_model_whose_engine_is_back_rests_no_longer() -> None:
    model = model_of(engine())
    until = timezone.now() + timedelta(minutes=2)
    LanguageModel.objects.filter(pk=model.pk).update(failures_in_row=5, resting_until=until)
    engine_note(slug="small", report=Report(State.STARTING))
    model.refresh_from_db()
    assert model.resting_until
    engine_note(slug="small", report=Report(State.READY))
    model.refresh_from_db()
    assert (model.failures_in_row, model.resting_until) == (0, None)
    # Ready as before: what fails now is the model's own.
    LanguageModel.objects.filter(pk=model.pk).update(failures_in_row=2)
    engine_note(slug="small", report=Report(State.READY, running=1))
    model.refresh_from_db()
    assert model.failures_in_row == 2


def test_a_state_that_is_noted_decides_who_is_drawn(settings: Settings) -> None:
    row = engine()
    for state, policy, is_drawn in [
        (State.STARTING, "wait", False),
        (State.READY, "wait", True),
        (State.ASLEEP, "wait", True),
        (State.ASLEEP, "another", False),
        (State.READY, "another", True),
        (State.FAILED, "wait", False),
    ]:
        settings.ENGINE_ASLEEP = policy
        engine_note(slug="small", report=Report(state, "because", cache_tokens=5))
        model = model_of(row)
        assert model.is_available is is_drawn, (state, policy)
        assert LanguageModel.objects.available().filter(pk=model.pk).exists() is is_drawn
    settings.ENGINE_ASLEEP = "another"
    engine_note(slug="small", report=Report(State.ASLEEP))
    assert model_of(row).away_because == "Its engine sleeps."
    row.refresh_from_db()
    assert (row.state, row.cache_tokens, row.is_watched) == ("asleep", None, True)


def test_to_ask_wakes_only_what_sleeps_and_only_once() -> None:
    row = engine(desired=Wanted.ASLEEP)
    engine_note(slug="small", report=Report(State.DRAINING))
    assert engine_wake(endpoint_slug="small") == (State.DRAINING, "")
    assert Engine.objects.get().desired == Wanted.ASLEEP, "another needs its memory now"
    engine_note(slug="small", report=Report(State.ASLEEP))
    assert engine_wake(endpoint_slug="small")[0] is State.ASLEEP
    at = Engine.objects.get().wanted_at
    assert Engine.objects.get().desired == Wanted.AWAKE
    engine_wake(endpoint_slug="small")
    assert Engine.objects.get().wanted_at == at
    assert engine_wake(endpoint_slug="nobody") == (None, "")
    Engine.objects.filter(pk=row.pk).update(seen_at=timezone.now() - timedelta(minutes=5))
    assert engine_wake(endpoint_slug="small")[0] is State.FAILED, "nobody is there who could wake it"


def test_one_that_was_asked_again_meanwhile_is_not_put_to_sleep() -> None:
    row = engine()
    read_at = row.wanted_at
    engine_desired_set(engine=row, desired=Wanted.AWAKE)
    engines_put_to_sleep(asked={"small": read_at})
    assert Engine.objects.get().desired == Wanted.AWAKE
    engines_put_to_sleep(asked={"small": Engine.objects.get().wanted_at})
    assert Engine.objects.get().desired == Wanted.ASLEEP


def test_when_the_one_who_looks_after_them_dies_nothing_says_ready_any_more() -> None:
    for slug, state in (("ready", State.READY), ("asleep", State.ASLEEP), ("off", State.STOPPED)):
        engine(slug)
        engine_note(slug=slug, report=Report(state, running=3))
    assert engines_unseen_note() == 0
    Engine.objects.update(seen_at=timezone.now() - timedelta(minutes=1))
    assert engines_unseen_note() == 2
    assert engines_unseen_note() == 0
    states = {row.slug: (row.state, row.running) for row in Engine.objects.all()}
    assert states == {"ready": ("unreachable", 0), "asleep": ("unreachable", 0), "off": ("stopped", 3)}
    assert "engines run" in Engine.objects.get(slug="ready").reason
    assert not LanguageModel.objects.available().exists()
    engine_note(slug="ready", report=Report(State.READY))
    assert LanguageModel.objects.available().get().slug == "ready"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def test_the_admin_shows_states_reasons_and_the_log_and_takes_orders(operator: Client) -> None:
    form = {"slug": "tiny", "model": "plain", "port": 9000, "host": "127.0.0.1", "desired": "stopped", "sleep_level": 1,
            "dtype": "auto", "tensor_parallel": 1, "extra_arguments": '["--max-num-seqs", "8"]'}  # fmt: skip
    answer = operator.post("/admin/providers/engine/add/", form)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    row = Engine.objects.get()
    assert model_of(row).upstream_id == "tiny"
    engine_note(slug="tiny", report=Report(State.FAILED, "The disk is full.", log_tail="<b>OSError</b> [Errno 28]"))
    page = operator.get(f"/admin/providers/engine/{row.pk}/change/").content.decode()
    assert "The disk is full." in page
    assert "&lt;b&gt;OSError" in page
    assert "<b>OSError" not in page
    for number in range(3):
        engine(f"more-{number}")
    with assertNumQueries(5):
        assert "The disk is full." in operator.get("/admin/providers/engine/").content.decode()
    for action, desired in (("wake", "awake"), ("sleep", "asleep"), ("stop", "stopped")):
        operator.post("/admin/providers/engine/", {"action": action, "_selected_action": [row.pk]})
        row.refresh_from_db()
        assert row.desired == desired


def test_the_api_shows_engines_to_staff_and_takes_what_is_wanted(client: Client) -> None:
    engine(extra_arguments=["--secret-thing"])
    engine_note(slug="small", report=Report(State.READY, running=2, cache_used=0.5, cache_tokens=46_592))
    _, key = factories.api_key()
    headers = {"Authorization": f"Bearer {key}"}
    answer = client.get("/api/v1/engines/", headers=headers)
    (row,) = answer.json()["results"] if isinstance(answer.json(), dict) else answer.json()
    assert {
        "slug": "small",
        "state": "ready",
        "running": 2,
        "cache_tokens": 46_592,
        "is_watched": True,
    }.items() <= row.items()
    assert "--secret-thing" not in answer.content.decode()
    want = {"content_type": "application/json", "headers": headers}
    assert client.patch("/api/v1/engines/small/", {"desired": "asleep"}, **want).json()["desired"] == "asleep"
    assert Engine.objects.get().desired == "asleep"
    assert client.patch("/api/v1/engines/small/", {"desired": "dancing"}, **want).status_code == 400
    assert client.patch("/api/v1/engines/none/", {"desired": "asleep"}, **want).status_code == 404
    _, weak = factories.api_key(factories.user(), scopes=["read", "run"])
    assert client.get("/api/v1/engines/", headers={"Authorization": f"Bearer {weak}"}).status_code == 403


def test_the_commands_show_and_order(capsys: pytest.CaptureFixture[str]) -> None:
    engine()
    call_command("engines", "sleep", "small")
    assert Engine.objects.get().desired == "asleep"
    out = StringIO()
    call_command("engines", "list", stdout=out)
    assert "small" in out.getvalue()
    with pytest.raises(CommandError, match="There is no engine other"):
        call_command("engines", "wake", "other")


def test_an_engine_is_made_from_a_terminal_here_or_on_another_machine(settings: Settings, tmp_path: Path) -> None:
    settings.MODELS = tmp_path
    (tmp_path / "org--tiny").mkdir()
    out = StringIO()
    call_command("engines", "add", "here", "org/tiny", "--port", "8101", "--revision", "abc123", stdout=out)
    call_command("engines", "add", "there", "org/tiny", "--port", "8101", "--host", "gpu.example.org", stdout=out)
    here, there = Engine.objects.order_by("slug")
    assert (here.model, here.revision, here.spec.is_ours) == (str(tmp_path / "org--tiny"), "abc123", True)
    assert (there.model, there.spec.url, there.spec.is_ours) == ("org/tiny", "http://gpu.example.org:8101", False)
    assert "run watches it" in out.getvalue()
    with pytest.raises(CommandError, match="already exists"):
        call_command("engines", "add", "again", "org/tiny", "--port", "8101")


def test_an_engine_of_ours_may_be_asked_whatever_the_rule_and_its_address_is_its_own(
    operator: Client, settings: Settings
) -> None:
    settings.PRIVATE_ENDPOINTS = "forbid"
    row = engine()
    engine_note(slug="small", report=Report(State.READY))
    model = model_of(row)
    assert model.endpoint
    assert target_for(model).addresses == "allow"
    page = operator.get(f"/admin/providers/endpoint/{model.endpoint.pk}/change/").content.decode()
    assert 'name="slug"' in page
    assert 'name="base_url"' not in page
    operator.post(
        "/admin/providers/engine/", {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    )
    assert not Engine.objects.exists()
    model = LanguageModel.objects.select_related("endpoint").get()
    assert target_for(model).addresses == "forbid"
    assert not model.is_available


def test_what_holds_an_endpoints_key_is_gone_before_an_engine_could_inherit_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR = tmp_path
    factories.endpoint(api_key_variable="ACME_ACCESS")
    factories.endpoint(api_key_variable="HF_TOKEN")
    seen: dict[str, str] = {}
    monkeypatch.setattr(engine_room, "run", lambda ways: seen.update(os.environ))
    for name in ("ACME_ACCESS", "HF_TOKEN", "OTHER"):
        monkeypatch.setenv(name, "value")
    call_command("engines", "run")
    assert "ACME_ACCESS" not in seen
    assert {"HF_TOKEN", "OTHER"} <= set(seen)
