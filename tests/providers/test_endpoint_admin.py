"""Endpoints in the admin: keys that are never shown again, a test of the connection, models to import."""

from typing import Any

import pytest
from cryptography.fernet import InvalidToken
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from providers import keys
from providers.adapters.base import ProviderError
from providers.models import Endpoint, LanguageModel
from providers.selectors import target_for
from tests import factories
from tests.fakes.upstream import Upstream

pytestmark = pytest.mark.django_db
SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def form_of(endpoint: Endpoint, **fields: Any) -> dict[str, Any]:
    names = (
        "name", "slug", "kind", "base_url", "connect_timeout", "first_token_timeout", "idle_timeout", "total_timeout",
        "cache_seconds",
    )  # fmt: skip
    form = {name: getattr(endpoint, name) for name in names}
    inline = {"language_models-TOTAL_FORMS": 0, "language_models-INITIAL_FORMS": 0}
    return {**form, "quirks": "{}", "is_enabled": "on", **inline, **fields}


def save(operator: Client, endpoint: Endpoint, **fields: Any) -> Endpoint:
    answer = operator.post(f"/admin/providers/endpoint/{endpoint.pk}/change/", form_of(endpoint, **fields))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    endpoint.refresh_from_db()
    return endpoint


def test_a_pasted_key_is_encrypted_used_and_never_shown_again(operator: Client) -> None:
    model = factories.language_model()
    assert model.endpoint
    endpoint = save(operator, model.endpoint, new_key=f" {SECRET}\n")
    assert endpoint.encrypted_key
    assert SECRET not in endpoint.encrypted_key
    assert endpoint.has_key
    assert target_for(LanguageModel.objects.get(pk=model.pk)).api_key == SECRET
    pages = [
        f"/admin/providers/endpoint/{endpoint.pk}/change/",
        f"/admin/providers/endpoint/{endpoint.pk}/history/",
        "/admin/providers/endpoint/",
        "/admin/",
    ]
    for page in pages:
        shown = operator.get(page).content.decode()
        assert SECRET not in shown
        assert endpoint.encrypted_key not in shown
    assert SECRET not in "".join(entry.change_message for entry in LogEntry.objects.all())


def test_saving_without_a_key_leaves_the_stored_one(operator: Client) -> None:
    endpoint = save(operator, factories.endpoint(), new_key=SECRET)
    endpoint = save(operator, endpoint, name="Another name")
    assert keys.key_of(endpoint) == SECRET


@pytest.mark.parametrize("address", ["https://elsewhere.example/v1", "http://upstream.example:81/v1"])
def test_an_address_on_another_server_wants_the_key_anew(operator: Client, address: str) -> None:
    endpoint = save(operator, factories.endpoint(base_url="http://upstream.example/v1"), new_key=SECRET)
    url = f"/admin/providers/endpoint/{endpoint.pk}/change/"
    answer = operator.post(url, form_of(endpoint, base_url=address))
    assert "The address leads to another server" in answer.content.decode()
    endpoint.refresh_from_db()
    assert endpoint.base_url == "http://upstream.example/v1"
    assert keys.key_of(save(operator, endpoint, base_url="http://upstream.example:80/v2")) == SECRET
    assert keys.key_of(save(operator, endpoint, base_url=address, new_key="sk-other")) == "sk-other"


def test_a_stored_key_is_sent_to_no_other_server_however_the_address_changed(caplog: pytest.LogCaptureFixture) -> None:
    model = factories.language_model(endpoint=factories.endpoint(needs_key=True))
    assert model.endpoint
    keys.endpoint_key_set(endpoint=model.endpoint, key=SECRET)
    Endpoint.objects.update(base_url="https://elsewhere.example/v1")
    keys.keys_refresh()
    moved = LanguageModel.objects.select_related("endpoint").get()
    assert target_for(moved).api_key == ""
    assert not moved.is_active
    assert "was pasted for http" in caplog.text
    assert SECRET not in caplog.text


def test_a_key_can_be_forgotten(operator: Client) -> None:
    endpoint = save(operator, factories.endpoint(), new_key=SECRET)
    endpoint = save(operator, endpoint, forget_key="on")
    assert keys.key_of(endpoint) == ""
    assert not endpoint.has_key


def test_keys_are_encrypted_anew_with_a_new_secret(settings: Settings) -> None:
    endpoint = factories.endpoint()
    settings.KEY_ENCRYPTION_SECRETS = ["old"]
    keys.endpoint_key_set(endpoint=endpoint, key=SECRET)
    settings.KEY_ENCRYPTION_SECRETS = ["new", "old"]
    assert keys.key_of(endpoint) == SECRET
    call_command("keys_rotate")
    settings.KEY_ENCRYPTION_SECRETS = ["new"]
    endpoint.refresh_from_db()
    assert keys.key_of(endpoint) == SECRET


def test_a_key_of_another_installation_is_an_error_that_names_no_key(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    model = factories.language_model()
    assert model.endpoint
    settings.KEY_ENCRYPTION_SECRETS = ["old"]
    keys.endpoint_key_set(endpoint=model.endpoint, key=SECRET)
    settings.KEY_ENCRYPTION_SECRETS = ["new"]
    with pytest.raises(ProviderError, match="cannot be decrypted"):
        keys.key_of(model.endpoint)
    assert target_for(model).api_key == ""
    assert "cannot be decrypted" in caplog.text
    with pytest.raises(CommandError, match="cannot be decrypted"):
        call_command("keys_rotate")
    assert InvalidToken.__name__ not in caplog.text


def test_the_connection_is_tested_and_told_in_words(operator: Client, upstream: Upstream) -> None:
    good = factories.endpoint(base_url=upstream.url)
    answer = operator.post(f"/admin/providers/endpoint/{good.pk}/test/", follow=True)
    assert "The endpoint answers and offers" in answer.content.decode()
    bad = factories.endpoint(base_url="http://127.0.0.1:9/v1")
    answer = operator.post(f"/admin/providers/endpoint/{bad.pk}/test/", follow=True)
    assert "Nothing listens at 127.0.0.1:9" in answer.content.decode()
    bad.refresh_from_db()
    assert not bad.is_reachable


def test_models_are_imported_once(operator: Client, upstream: Upstream) -> None:
    endpoint = factories.endpoint(base_url=upstream.url)
    page = operator.get(f"/admin/providers/endpoint/{endpoint.pk}/models/").content.decode()
    assert 'value="steady"' in page
    factories.language_model("steady")  # the slug is taken by somebody else's model
    for _ in range(2):
        operator.post(f"/admin/providers/endpoint/{endpoint.pk}/models/", {"model": ["steady", "nowhere"]})
    model = LanguageModel.objects.get(endpoint=endpoint)
    assert (model.upstream_id, model.slug) == ("steady", "steady-2")
    assert "there" in operator.get(f"/admin/providers/endpoint/{endpoint.pk}/models/").content.decode()


def test_nobody_but_an_administrator_tests_or_imports(client: Client) -> None:
    endpoint = factories.endpoint()
    for person in (factories.user(), factories.user(is_staff=True)):
        client.force_login(person)
        assert client.post(f"/admin/providers/endpoint/{endpoint.pk}/test/").status_code in (302, 403)
        assert client.get(f"/admin/providers/endpoint/{endpoint.pk}/models/").status_code in (302, 403)
    assert Endpoint.objects.get(pk=endpoint.pk).checked_at is None


def test_an_outage_takes_models_out_of_the_draw_and_not_out_of_the_catalogue(operator: Client) -> None:
    model = factories.language_model()
    assert model.endpoint
    address = "/admin/providers/endpoint/"
    operator.post(address, {"action": "outage_begin", "_selected_action": [model.endpoint.pk]})
    assert not LanguageModel.objects.available().exists()
    assert LanguageModel.objects.active().exists()
    assert "outage" in operator.get("/admin/providers/languagemodel/").content.decode()
    operator.post(address, {"action": "outage_end", "_selected_action": [model.endpoint.pk]})
    assert LanguageModel.objects.available().exists()


def test_an_endpoint_that_needs_a_key_is_off_until_there_is_one(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = factories.language_model(endpoint=factories.endpoint(needs_key=True, api_key_variable="ACME_KEY"))
    assert not LanguageModel.objects.active().exists()
    monkeypatch.setenv("ACME_KEY", "x")
    keys.keys_refresh()
    assert list(LanguageModel.objects.active()) == [model]


def test_a_variable_of_spaces_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = factories.endpoint(needs_key=True, api_key_variable="ACME_KEY")
    monkeypatch.setenv("ACME_KEY", " \n")
    keys.keys_refresh()
    endpoint.refresh_from_db()
    assert not endpoint.has_key


def test_the_page_says_what_goes_on_at_an_endpoint(operator: Client) -> None:
    endpoint = factories.endpoint(max_streams=4)
    assert "0 of 4 places taken" in operator.get(f"/admin/providers/endpoint/{endpoint.pk}/change/").content.decode()
