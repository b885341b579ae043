"""A log-in link works once, for one person, for a day."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.errors import LinkExpired
from accounts.models import User
from tests import factories

pytestmark = pytest.mark.django_db


def path_of(link: str) -> str:
    return urlsplit(link).path


def test_a_link_logs_in_once() -> None:
    person = factories.user()
    link = services.login_link_issue(user=person)
    client = Client()
    answer = client.get(path_of(link))
    assert (answer.status_code, answer.headers["Location"]) == (302, "/battle/")
    assert client.session["_auth_user_id"] == str(person.pk)
    second = Client().get(path_of(link))
    assert second.status_code == 410
    assert "used" in second.content.decode()


def test_a_link_is_absolute(settings: object) -> None:
    settings.PUBLIC_URL = "https://arena.example.org"  # type: ignore[attr-defined]
    assert services.login_link_issue(user=factories.user()).startswith("https://arena.example.org/account/link/")


def test_loading_the_page_again_after_the_log_in_goes_on() -> None:
    path = path_of(services.login_link_issue(user=factories.user()))
    client = Client()
    client.get(path)
    assert client.get(path).status_code == 302


def test_a_link_is_used_up_even_in_the_second_of_another_log_in() -> None:
    person = factories.user()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        Client().force_login(person)
        clock.shift(0.01)
        person.refresh_from_db()
        path = path_of(services.login_link_issue(user=person))
        clock.shift(0.01)
        assert Client().get(path).status_code == 302
        clock.shift(0.01)
        assert Client().get(path).status_code == 410


def test_a_link_ends_with_any_other_log_in_and_with_a_new_password() -> None:
    person = factories.user()
    logged_in = path_of(services.login_link_issue(user=person))
    Client().force_login(person)
    assert Client().get(logged_in).status_code == 410
    person.refresh_from_db()
    changed = path_of(services.login_link_issue(user=person))
    person.set_password(factories.PASSWORD)
    person.save()
    assert Client().get(changed).status_code == 410


def test_a_link_lives_a_day() -> None:
    path = path_of(services.login_link_issue(user=factories.user()))
    with time_machine.travel(timezone.now() + timedelta(hours=24, minutes=1)):
        assert Client().get(path).status_code == 410
    with time_machine.travel(timezone.now() + timedelta(hours=23, minutes=59)):
        assert Client().get(path).status_code == 302


def test_of_two_requests_at_once_one_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    person = factories.user()
    *_, uid, token, _ = path_of(services.login_link_issue(user=person)).split("/")
    check = services.login_links.check_token

    def the_other_comes_between(user: User, token: str) -> bool:
        is_good = check(user, token)
        monkeypatch.setattr(services.login_links, "check_token", check)
        services.login_link_use(uid=uid, token=token)
        return is_good

    monkeypatch.setattr(services.login_links, "check_token", the_other_comes_between)
    with pytest.raises(LinkExpired):
        services.login_link_use(uid=uid, token=token)


@pytest.mark.parametrize("headers", [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}])
def test_fetching_ahead_does_not_use_a_link_up(headers: dict[str, str]) -> None:
    path = path_of(services.login_link_issue(user=factories.user()))
    assert Client().get(path, headers=headers).status_code == 503
    assert Client().head(path).status_code == 405
    assert Client().get(path).status_code == 302


def test_a_link_of_a_closed_account_or_of_nobody_is_refused() -> None:
    closed = factories.user(is_active=False)
    other = path_of(services.login_link_issue(user=factories.user())).split("/")
    for path in [
        path_of(services.login_link_issue(user=closed)),
        "/account/link/OTk5/x-y/",
        "/account/link/%00/%00/",
        "/account/link/w4TDtg/ä/",
        f"/account/link/{'9' * 500}/x/",
        "/".join([*other[:3], "MQ" if other[3] != "MQ" else "Mg", *other[4:]]),
    ]:
        assert Client().get(path).status_code == 410, path
