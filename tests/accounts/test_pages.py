"""The account page, and allauth's pages in our frame."""

import re

import pytest
from django.test import Client

from accounts import selectors
from accounts.models import ApiKey, User
from tests import factories

pytestmark = pytest.mark.django_db

GOOD_PASSWORD = "correct horse battery"


@pytest.fixture
def person() -> User:
    return factories.user("ada", password=factories.PASSWORD)


@pytest.fixture
def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_person_makes_a_key_sees_it_once_and_revokes_it(browser: Client, person: User) -> None:
    answer = browser.post("/account/keys/", {"name": "notebook", "scopes": ["read", "vote"], "days": "30"})
    found = re.search(r"tny_[0-9a-f]{8}_[\w-]+", answer.content.decode())
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert found
    key = selectors.apikey_find(found[0])
    assert key is not None
    assert (key.user, key.name, key.scopes) == (person, "notebook", ["read", "vote"])
    assert key.expires_at is not None
    page = browser.get("/account/").content.decode()
    assert key.prefix in page
    assert found[0] not in page
    assert browser.post(f"/account/keys/{key.pk}/revoke/").status_code == 302
    assert selectors.apikey_find(found[0]) is None


@pytest.mark.parametrize("form", [{}, {"name": "x"}, {"name": "x", "scopes": ["admin"]}, {"name": "x" * 101}])
def test_a_key_form_that_is_wrong_says_so_and_makes_none(browser: Client, form: dict[str, object]) -> None:
    answer = browser.post("/account/keys/", form)
    assert answer.status_code == 400
    assert 'class="errors"' in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_only_staff_are_offered_admin(browser: Client) -> None:
    assert 'value="admin"' not in browser.get("/account/").content.decode()
    browser.force_login(factories.staff())
    assert 'value="admin"' in browser.get("/account/").content.decode()


def test_the_key_of_somebody_else_cannot_be_revoked(browser: Client) -> None:
    key, text = factories.api_key()
    assert "no such key" in browser.post(f"/account/keys/{key.pk}/revoke/", follow=True).content.decode()
    assert selectors.apikey_find(text)


def test_a_name_with_markup_is_shown_as_text(browser: Client) -> None:
    browser.post("/account/keys/", {"name": "<b onclick=x>", "scopes": ["read"]})
    page = browser.get("/account/").content.decode()
    assert "<b onclick" not in page
    assert "&lt;b onclick" in page


def test_sharing_can_be_ended_and_begun(browser: Client, person: User) -> None:
    for data, shares in [({}, False), ({"shares_data": "on"}, True)]:
        browser.post("/account/sharing/", data)
        person.refresh_from_db()
        assert person.shares_data is shares


def test_a_person_signs_up_logs_out_and_logs_in() -> None:
    client = Client()
    form = {"username": "grace", "email": "", "password1": GOOD_PASSWORD, "password2": GOOD_PASSWORD}
    assert client.post("/account/signup/", form).headers["Location"] == "/battle/"
    assert client.post("/account/logout/").headers["Location"] == "/"
    answer = client.post("/account/login/", {"login": "grace", "password": GOOD_PASSWORD})
    assert answer.headers["Location"] == "/battle/"


def test_a_wrong_password_is_said_on_the_page(person: User) -> None:
    answer = Client().post("/account/login/", {"login": "ada", "password": "wrong"})
    assert answer.status_code == 200
    assert 'class="errors"' in answer.content.decode()


def test_sign_up_is_closed_by_the_setting(settings: object) -> None:
    settings.SIGNUP_OPEN = False  # type: ignore[attr-defined]
    form = {"username": "grace", "password1": GOOD_PASSWORD, "password2": GOOD_PASSWORD}
    for answer in (Client().get("/account/signup/"), Client().post("/account/signup/", form)):
        assert "Sign-up is closed" in answer.content.decode()
    assert not User.objects.exists()
    assert "/account/signup/" not in Client().get("/account/login/").content.decode()


def test_a_password_is_changed(browser: Client, person: User) -> None:
    form = {"oldpassword": factories.PASSWORD, "password1": GOOD_PASSWORD, "password2": GOOD_PASSWORD}
    assert browser.post("/account/password/change/", form).status_code == 302
    person.refresh_from_db()
    assert person.check_password(GOOD_PASSWORD)


def test_who_came_by_a_link_can_set_a_password() -> None:
    client = Client()
    client.force_login(factories.user())
    assert "/account/password/set/" in client.get("/account/").content.decode()
    form = {"password1": GOOD_PASSWORD, "password2": GOOD_PASSWORD}
    assert client.post("/account/password/set/", form).status_code == 302


def test_a_forgotten_password_is_reset_by_mail(mailoutbox: list[object]) -> None:
    factories.user("ada", email="ada@example.org", password=factories.PASSWORD)
    client = Client()
    assert client.post("/account/password/reset/", {"email": "ada@example.org"}).status_code == 302
    found = re.search(r"http://[^/]+(/account/password/reset/key/\S+)", mailoutbox[0].body)  # type: ignore[attr-defined]
    assert found
    page = client.get(found[1], follow=True)
    form = {"password1": GOOD_PASSWORD, "password2": GOOD_PASSWORD}
    client.post(page.request["PATH_INFO"], form)
    assert User.objects.get().check_password(GOOD_PASSWORD)


@pytest.mark.parametrize(
    "path",
    ["login/", "signup/", "password/reset/", "password/reset/done/", "password/reset/key/1-x/", "inactive/"],
)
def test_every_page_for_strangers_is_in_our_frame(path: str) -> None:
    page = Client().get(f"/account/{path}", follow=True).content.decode()
    assert "<!doctype html>" in page.lower()
    assert 'class="card' in page


@pytest.mark.parametrize("path", ["", "logout/", "password/change/", "email/"])
def test_every_page_for_a_person_is_in_our_frame(browser: Client, path: str) -> None:
    page = browser.get(f"/account/{path}", follow=True).content.decode()
    assert 'class="card' in page


def test_the_admin_shows_keys_but_no_digest_and_revokes_them() -> None:
    client = Client()
    client.force_login(factories.staff())
    key, text = factories.api_key(factories.user(), scopes=["read"])
    listing = client.get("/admin/accounts/apikey/").content.decode()
    detail = client.get(f"/admin/accounts/apikey/{key.pk}/change/").content.decode()
    assert key.prefix in listing
    assert key.digest not in listing + detail
    client.post("/admin/accounts/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert selectors.apikey_find(text) is None
