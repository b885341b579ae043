"""When a session is over, for what stays open beyond a request."""

import pytest
from django.test import Client

from accounts import sockets
from accounts.sessions import session_lives
from accounts.sockets import CLOSE_LOGGED_OUT, SessionConsumer
from tests import factories


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["log out", "password", "deactivated", "deleted", "somebody else", "nothing"])
def test_a_session_lives_until_it_is_ended_in_any_way(end: str) -> None:
    client, user = Client(), factories.user()
    client.force_login(user)
    key = client.session.session_key
    assert key
    if end == "log out":
        client.post("/account/logout/")
    elif end == "password":
        user.set_password("another-long-password")
        user.save()
    elif end == "deactivated":
        user.is_active = False
        user.save()
    elif end == "deleted":
        client.session.delete()
    elif end == "somebody else":
        user = factories.user()
    assert session_lives(session_key=key, user_id=user.pk) is (end == "nothing")
    assert not session_lives(session_key="", user_id=user.pk)


async def test_an_open_socket_looks_now_and_then_whether_its_session_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([True, True, OSError("the database is away"), True, False])
    closed: list[int | None] = []

    def look(**session: object) -> bool:
        found = next(looks)
        if isinstance(found, Exception):
            raise found
        return found

    async def close(code: int | None = None) -> None:
        closed.append(code)

    monkeypatch.setattr(sockets, "SESSION_CHECK_SECONDS", 0)
    monkeypatch.setattr(sockets, "session_lives", look)
    consumer = SessionConsumer()
    consumer.user, consumer.session_key = factories.User(pk=1), "key"
    monkeypatch.setattr(consumer, "close", close)
    await consumer._watch_session()
    assert closed == [CLOSE_LOGGED_OUT]
    assert list(looks) == []
