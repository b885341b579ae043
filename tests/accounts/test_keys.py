"""What a key opens, and what closes it."""

import hashlib
from datetime import UTC, datetime, timedelta

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
