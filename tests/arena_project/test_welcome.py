"""The first page, for each who may come."""

import pytest
from django.test import Client

from providers import selectors
from providers.discovery import Discovery
from tests import factories

pytestmark = pytest.mark.django_db


def page_for(person: factories.User | None) -> str:
    client = Client()
    if person:
        client.force_login(person)
    return client.get("/").content.decode()


def test_a_stranger_is_offered_the_ways_in() -> None:
    page = page_for(None)
    assert 'href="/account/login/"' in page
    assert 'href="/account/signup/"' in page
    assert "/admin/" not in page


def test_sign_up_is_offered_only_where_it_is_open(settings: object) -> None:
    settings.SIGNUP_OPEN = False  # type: ignore[attr-defined]
    assert 'href="/account/signup/"' not in page_for(None)


def test_a_person_goes_on_with_one_click() -> None:
    page = page_for(factories.user())
    assert 'href="/battle/"' in page
    assert "administrator can add more" in page
    assert "/admin/providers/" not in page


def test_staff_learn_how_to_add_a_real_model() -> None:
    page = page_for(factories.staff())
    assert "/admin/providers/endpoint/add/" in page
    assert 'href="/admin/providers/endpoint/"' in page


def test_the_small_model_is_called_what_it_is(settings: object) -> None:
    assert "often wrong" in page_for(factories.user())
    settings.EMBEDDED_ENGINE = False  # type: ignore[attr-defined]
    assert "often wrong" not in page_for(factories.user())


def test_staff_alone_see_what_was_found_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Discovery(name="Ollama", what="It answers on this machine.", how="Add it as an endpoint.")
    monkeypatch.setattr(selectors, "discoveries", lambda: [found])
    assert "It answers on this machine." in page_for(factories.staff())
    assert "Ollama" not in page_for(factories.user())
