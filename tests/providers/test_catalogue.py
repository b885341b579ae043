"""Endpoints and language models: what a request needs of them, and those that come with Tourney."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from providers import selectors, services
from providers.adapters.base import ErrorKind, Sampling, Timeouts
from providers.errors import SENTENCES
from providers.models import Endpoint, LanguageModel
from tests import factories


def test_a_target_has_all_that_a_request_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "very-secret")
    endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", api_key_variable="SOME_KEY", idle_timeout=3)
    model = LanguageModel(endpoint=endpoint, upstream_id="up/stream", system_prompt="Be brief.", temperature=0.0)
    target = selectors.target_for(model)
    assert (target.kind, target.base_url, target.upstream_id) == ("openai", "http://127.0.0.1:1/v1", "up/stream")
    assert target.api_key == "very-secret"
    assert "very-secret" not in repr(target)
    assert target.sampling == Sampling(temperature=0.0)
    assert target.timeouts == Timeouts(connect=10, first_token=60, idle=3, total=600)
    assert target.input_price is None


@pytest.mark.parametrize("variable", ["", "NOT_SET_ANYWHERE"])
def test_an_endpoint_may_need_no_key(variable: str) -> None:
    model = LanguageModel(endpoint=Endpoint(base_url="http://127.0.0.1:1/v1", api_key_variable=variable))
    assert selectors.target_for(model).api_key == ""


def test_a_key_may_end_with_a_line_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "very-secret\n")
    model = LanguageModel(endpoint=Endpoint(base_url="http://127.0.0.1:1/v1", api_key_variable="SOME_KEY"))
    assert selectors.target_for(model).api_key == "very-secret"


@pytest.mark.parametrize(
    "variable",
    ["SECRET_KEY", "DATABASE_URL", "REDIS_URL", "BROKER_URL", "EMAIL_URL", "METRICS_TOKEN", "POSTGRES_PASSWORD",
     "OTEL_EXPORTER_OTLP_HEADERS"],
)  # fmt: skip
def test_a_secret_of_our_own_is_never_an_endpoints_key(variable: str) -> None:
    endpoint = Endpoint(slug="theirs", name="Theirs", base_url="http://127.0.0.1:1/v1", api_key_variable=variable)
    with pytest.raises(ValidationError, match=f"{variable} is Tourney's own"):
        endpoint.clean_fields()
    endpoint.api_key_variable = "OPENAI_API_KEY"
    endpoint.clean_fields()


@pytest.mark.django_db
def test_the_admin_refuses_an_endpoint_whose_key_is_a_secret_of_our_own(client: Client) -> None:
    client.force_login(factories.staff())
    fields = {"slug": "theirs", "name": "Theirs", "kind": "openai", "base_url": "http://127.0.0.1:1/v1"}
    fields |= {"cache_seconds": "0", "quirks": "{}"}
    timeouts = dict.fromkeys(("connect_timeout", "first_token_timeout", "idle_timeout", "total_timeout"), 5)
    inline = {"language_models-TOTAL_FORMS": 0, "language_models-INITIAL_FORMS": 0}
    form: dict[str, Any] = fields | timeouts | inline
    add = reverse("admin:providers_endpoint_add")
    answer = client.post(add, form | {"api_key_variable": "SECRET_KEY"})
    assert "never sent" in answer.content.decode()
    assert not Endpoint.objects.filter(slug="theirs").exists()
    assert client.post(add, form | {"api_key_variable": "THEIR_KEY"}).status_code == 302
    assert Endpoint.objects.get(slug="theirs").api_key_variable == "THEIR_KEY"


def test_every_kind_of_failure_has_a_sentence() -> None:
    assert SENTENCES.keys() == set(ErrorKind)
    assert all(sentence.endswith(".") for sentence in SENTENCES.values())


@pytest.mark.django_db
def test_the_embedded_models_are_added_once_and_stay_as_they_were_changed(settings: Settings) -> None:
    Endpoint.objects.filter(slug=services.EMBEDDED_SLUG).delete()
    assert services.embedded_seed() == len(services.EMBEDDED_MODELS)
    LanguageModel.objects.filter(slug="smollm2-135m").update(status=LanguageModel.Status.HIDDEN)
    LanguageModel.objects.filter(slug="smollm2-135m-hot").delete()
    settings.EMBEDDED_PORT = 12345
    assert services.embedded_seed() == 0
    endpoint = Endpoint.objects.get(slug=services.EMBEDDED_SLUG)
    assert endpoint.base_url == "http://127.0.0.1:12345/v1"
    assert [model.slug for model in selectors.models_listed()] == ["smollm2-135m-brief"]


@pytest.mark.django_db
def test_models_of_an_endpoint_that_does_not_answer_are_listed_and_not_drawn() -> None:
    services.embedded_seed()
    assert not LanguageModel.objects.available()
    services.endpoint_reachability_set(slug=services.EMBEDDED_SLUG, reachable=True)
    assert LanguageModel.objects.available().count() == selectors.models_listed().count() == 3
    services.endpoint_reachability_set(slug="no-such-endpoint", reachable=False)
