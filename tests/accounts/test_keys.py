"""What a key opens, and what closes it."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIClient, APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from accounts import selectors, services
from accounts.errors import KeyNotFound, ScopeNotGrantable
from accounts.models import ApiKey, Scope
from tests import factories

pytestmark = pytest.mark.django_db


class WhoView(APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN, "DELETE": Scope.ADMIN}

    def get(self, request: Request) -> Response:
        return Response({"user": request.user.get_username()})

    post = delete = get


who = WhoView.as_view()
requests = APIRequestFactory()


def test_a_key_is_shown_once_and_only_its_digest_is_kept() -> None:
    key, text = factories.api_key()
    start, prefix, secret = text.split("_", 2)
    assert (start, prefix) == ("tny", key.prefix)
    assert len(secret) >= 43  # 256 bits
    assert key.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert not any(secret in str(value) for value in ApiKey.objects.values_list().get())


@pytest.mark.parametrize("header", ["HTTP_AUTHORIZATION", "HTTP_X_API_KEY"])
def test_a_key_is_taken_from_either_header(header: str) -> None:
    key, text = factories.api_key()
    value = f"Bearer {text}" if header == "HTTP_AUTHORIZATION" else text
    assert who(requests.get("/", **{header: value})).data == {"user": key.user.username}


@pytest.mark.parametrize(
    "key",
    ["x", "tny_", "tny__", "tny_00000000_x", "tny_\x00_x", "tny_ä_ü", "tny_٣_x", "x" * 10_000],
)
def test_a_wrong_key_is_a_401_that_says_so(key: str) -> None:
    answer = who(requests.get("/", HTTP_X_API_KEY=key))
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="api"'
    assert answer.data["error"]["code"] == "not_authenticated"


def test_a_right_prefix_with_a_wrong_secret_is_refused() -> None:
    key, text = factories.api_key()
    assert selectors.apikey_find(text) == key
    assert selectors.apikey_find(text[:-1]) is None
    assert selectors.apikey_find(text + "x") is None
    assert selectors.apikey_find(f"tny_{key.prefix}_") is None


def test_an_empty_bearer_does_not_fall_back_to_nobody() -> None:
    assert who(requests.get("/", HTTP_AUTHORIZATION="Bearer ")).status_code == 401


def test_a_wrong_key_is_refused_even_beside_a_good_session() -> None:
    client = APIClient()
    client.force_login(factories.user())
    assert client.get("/api/v1/models/").status_code == 200
    assert client.get("/api/v1/models/", HTTP_X_API_KEY="wrong").status_code == 401


def test_no_key_is_a_401() -> None:
    answer = who(requests.get("/"))
    assert answer.status_code == 401
    assert "account page" in answer.data["error"]["message"]


def test_a_key_without_the_scope_is_refused_by_name() -> None:
    _, text = factories.api_key(scopes=["read"])
    assert who(requests.get("/", HTTP_X_API_KEY=text)).status_code == 200
    answer = who(requests.post("/", HTTP_X_API_KEY=text))
    assert answer.status_code == 403
    assert answer.data["error"]["code"] == "not_allowed"
    assert "run" in answer.data["error"]["message"]


def test_admin_ends_with_its_owners_staff_status() -> None:
    owner = factories.staff()
    _, text = factories.api_key(owner)
    assert who(requests.delete("/", HTTP_X_API_KEY=text)).status_code == 200
    owner.is_staff = False
    owner.save()
    assert who(requests.delete("/", HTTP_X_API_KEY=text)).status_code == 403


def test_a_session_may_all_but_admin() -> None:
    person = factories.user()
    for method, status in [("get", 200), ("post", 200), ("delete", 403)]:
        request = getattr(requests, method)("/")
        force_authenticate(request, user=person)
        assert who(request).status_code == status


def test_a_session_without_the_csrf_token_may_not_write() -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(factories.user())
    answer = client.post("/api/v1/battles/", {"prompt": "Hello"}, format="json")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "not_allowed"
    assert "CSRF" in answer.json()["error"]["message"]


def test_a_method_that_the_view_lacks_is_a_405() -> None:
    _, text = factories.api_key()
    assert who(requests.put("/", HTTP_X_API_KEY=text)).status_code == 405


def test_a_revoked_expired_or_orphaned_key_is_refused() -> None:
    revoked, revoked_text = factories.api_key()
    services.apikey_revoke(user=revoked.user, apikey_id=revoked.pk)
    _, expired_text = factories.api_key(expires_at=timezone.now() - timedelta(seconds=1))
    closed = factories.user(is_active=False)
    _, closed_text = factories.api_key(closed, scopes=["read"])
    for text in (revoked_text, expired_text, closed_text):
        assert who(requests.get("/", HTTP_X_API_KEY=text)).status_code == 401


def test_nobody_revokes_the_key_of_somebody_else() -> None:
    key, text = factories.api_key()
    with pytest.raises(KeyNotFound):
        services.apikey_revoke(user=factories.user(), apikey_id=key.pk)
    assert selectors.apikey_find(text)


@pytest.mark.parametrize("scopes", [[], ["fly"], ["read", "admin"]])
def test_a_person_cannot_give_what_is_not_theirs(scopes: list[str]) -> None:
    with pytest.raises(ScopeNotGrantable):
        services.apikey_issue(user=factories.user(), name="x", scopes=scopes)
    assert not ApiKey.objects.exists()


def test_the_last_use_is_written_at_most_once_a_minute() -> None:
    key, text = factories.api_key()
    noon = datetime(2027, 1, 1, 12, tzinfo=UTC)
    for second, written in [(0, 0), (30, 0), (59, 0), (61, 61), (90, 61)]:
        with time_machine.travel(noon + timedelta(seconds=second), tick=False):
            assert who(requests.get("/", HTTP_X_API_KEY=text)).status_code == 200
        key.refresh_from_db()
        assert key.last_used_at == noon + timedelta(seconds=written)


def test_a_key_has_a_limit_of_its_own_or_that_of_all(settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    narrow, narrow_text = factories.api_key()
    ApiKey.objects.filter(pk=narrow.pk).update(requests_per_minute=1)
    _, text = factories.api_key()
    with time_machine.travel(datetime(2027, 1, 1, 12, 0, 50, tzinfo=UTC), tick=False):
        assert [who(requests.get("/", HTTP_X_API_KEY=narrow_text)).status_code for _ in range(2)] == [200, 429]
        assert [who(requests.get("/", HTTP_X_API_KEY=text)).status_code for _ in range(4)] == [200, 200, 200, 429]
        answer = who(requests.get("/", HTTP_X_API_KEY=narrow_text))
    assert answer.headers["Retry-After"] == "10"
    assert answer.data["error"]["code"] == "too_many"
    assert answer.data["error"]["message"] == "That was more than 1 requests a minute. Wait 10 s."


def test_requests_are_counted_by_day_and_written_once_a_minute(django_assert_num_queries: Any) -> None:
    key, text = factories.api_key()
    noon = datetime(2027, 1, 1, 12, tzinfo=UTC)
    for second in (0, 10, 20):
        with time_machine.travel(noon + timedelta(seconds=second), tick=False):
            who(requests.get("/", HTTP_X_API_KEY=text))
    assert list(key.uses.values_list("requests", flat=True)) == [1]
    with time_machine.travel(noon + timedelta(seconds=30), tick=False):
        (shown,) = selectors.apikeys_of(key.user)
        assert (shown.today, shown.month) == (3, 3)
        with django_assert_num_queries(1):  # the key itself
            who(requests.get("/", HTTP_X_API_KEY=text))
    with time_machine.travel(noon + timedelta(seconds=90), tick=False):
        who(requests.get("/", HTTP_X_API_KEY=text))
    assert list(key.uses.values_list("requests", flat=True)) == [5]


def test_what_is_left_of_a_day_is_written_the_next() -> None:
    key, text = factories.api_key()
    late = datetime(2027, 1, 1, 23, 59, 30, tzinfo=UTC)
    for second in (0, 10, 20, 120):
        with time_machine.travel(late + timedelta(seconds=second), tick=False):
            who(requests.get("/", HTTP_X_API_KEY=text))
    assert list(key.uses.order_by("day").values_list("day__day", "requests")) == [(1, 3), (2, 1)]
    with time_machine.travel(late + timedelta(seconds=121), tick=False):
        (shown,) = selectors.apikeys_of(key.user)
    assert (shown.today, shown.month) == (1, 4)


def test_staff_change_the_limit_and_nothing_else(client: Any) -> None:
    key, _ = factories.api_key()
    client.force_login(factories.staff())
    uses = {f"uses-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    answer = client.post(
        f"/admin/accounts/apikey/{key.pk}/change/", {"requests_per_minute": "7", "name": "x", "scopes": "[]"} | uses
    )
    assert answer.status_code == 302
    changed = ApiKey.objects.get()
    assert (changed.requests_per_minute, changed.name, changed.scopes) == (7, key.name, key.scopes)
    assert "7" in client.get("/admin/accounts/apikey/").content.decode()
