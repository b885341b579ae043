"""The commands that let the first people and programs in."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts import selectors
from accounts.models import ApiKey, User
from tests import factories

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_apikey_issue_prints_the_key_alone_on_its_last_line() -> None:
    person = factories.user("ada")
    key = selectors.apikey_find(run("apikey_issue", "ada", "--scopes", "read,vote").splitlines()[-1])
    assert key is not None
    assert (key.user, key.scopes) == (person, ["read", "vote"])


def test_apikey_issue_makes_the_user_when_asked() -> None:
    with pytest.raises(CommandError, match="--create-user"):
        run("apikey_issue", "ci", "--scopes", "read")
    text = run("apikey_issue", "ci", "--scopes", "read,run,vote,export,admin", "--create-user").splitlines()[-1]
    key = selectors.apikey_find(text)
    assert key is not None
    assert key.user.is_staff
    assert not key.user.has_usable_password()


def test_apikey_issue_again_uses_the_same_user() -> None:
    for _ in range(2):
        run("apikey_issue", "ci", "--scopes", "read", "--create-user")
    assert ApiKey.objects.filter(user__username="ci").count() == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ada", "--scopes", "fly"], "no scope fly"),
        (["ada", "--scopes", ","], "at least one scope"),
        (["ada", "--scopes", "read,admin"], "only staff"),
        (["bad name!", "--scopes", "read", "--create-user"], "valid username"),
    ],
)
def test_apikey_issue_refuses_in_a_sentence(arguments: list[str], message: str) -> None:
    factories.user("ada")
    with pytest.raises(CommandError, match=message):
        run("apikey_issue", *arguments)
    assert not ApiKey.objects.exists()
    assert User.objects.count() == 1


def test_login_link_prints_a_link_that_works() -> None:
    factories.user("ada")
    link = run("login_link", "ada").strip()
    assert Client().get(link.removeprefix("http://localhost:8000")).status_code == 302


def test_login_link_names_who_is_missing() -> None:
    with pytest.raises(CommandError, match="nobody"):
        run("login_link", "nobody")
