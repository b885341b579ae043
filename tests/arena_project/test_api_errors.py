"""Whatever is sent, the API answers in one shape and never with a 500."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from rest_framework.test import APIClient

from arena_project import views
from tests import factories

pytestmark = pytest.mark.django_db

BATTLES = "/api/v1/battles/"
MakeClient = Callable[..., APIClient]


def check(answer: object, status: int, code: str) -> None:
    body = answer.json()  # type: ignore[attr-defined]
    assert answer.status_code == status, body  # type: ignore[attr-defined]
    assert answer.headers["Content-Type"] == "application/json"  # type: ignore[attr-defined]
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "fields"}
    assert body["error"]["code"] == code
    assert body["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe{}",
        b'{"prompt": "\xff"}',
        b'{"prompt": NaN}',
        b"[" * 200_000,
        b'{"prompt": ' + b"9" * 5_000 + b"}",
        b"\0",
    ],
    ids=["cut off", "no UTF-8", "no UTF-8 inside", "not a number", "too deep", "too long a number", "NUL"],
)
def test_a_malformed_body_is_a_400(api_client: MakeClient, body: bytes) -> None:
    check(api_client().post(BATTLES, body, content_type="application/json"), 400, "malformed")


@pytest.mark.parametrize("body", ["null", "[]", '"x"', "7", "{}", '{"prompt": {"a": 1}}', '{"prompt": "\\u0000"}'])
def test_a_body_of_the_wrong_form_is_a_400_that_names_the_field(api_client: MakeClient, body: str) -> None:
    answer = api_client().post(BATTLES, body, content_type="application/json")
    check(answer, 400, "invalid")
    assert answer.json()["error"]["fields"]


def test_a_lone_surrogate_is_a_400(api_client: MakeClient) -> None:
    answer = api_client().post(BATTLES, '{"prompt": "\\ud800"}', content_type="application/json")
    check(answer, 400, "invalid")


def test_a_body_that_is_too_large_is_a_413(api_client: MakeClient) -> None:
    body = b'{"prompt": "%s"}' % (b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    check(api_client().post(BATTLES, body, content_type="application/json"), 413, "too_large")
    keyed = api_client().post(BATTLES, body, content_type="application/json", HTTP_IDEMPOTENCY_KEY="k")
    check(keyed, 413, "too_large")


def test_another_content_type_is_a_415(api_client: MakeClient) -> None:
    check(api_client().post(BATTLES, b"<a/>", content_type="text/xml"), 415, "unsupported_media_type")


def test_a_format_that_we_do_not_have_is_a_406(api_client: MakeClient) -> None:
    check(api_client().get("/api/v1/models/", HTTP_ACCEPT="text/csv"), 406, "not_acceptable")


def test_an_unknown_address_is_a_404_also_without_a_key() -> None:
    for path in ("/api/v1/nothing/", "/api/", "/api/v2/models/", "/api/v1/battles/not-a-uuid/"):
        check(Client().get(path), 404, "not_found")


def test_an_unknown_method_is_a_405(api_client: MakeClient) -> None:
    answer = api_client().patch(BATTLES, {}, format="json")
    check(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize("page", ["0", "-1", "x", "9" * 40, "\0", "1e9"])
def test_a_page_that_is_not_there_is_a_404(api_client: MakeClient, page: str) -> None:
    check(api_client().get("/api/v1/models/", {"page": page}), 404, "not_found")


def test_pages_have_at_most_two_hundred_rows(api_client: MakeClient) -> None:
    endpoint = factories.endpoint()
    for _ in range(3):
        factories.language_model(endpoint=endpoint)
    client = api_client()
    two = client.get("/api/v1/models/", {"page_size": "2"}).json()
    assert (two["count"], len(two["results"]), two["previous"]) == (3, 2, None)
    assert "page=2" in two["next"]
    for size in ("9" * 30, "-1", "0", "x"):
        assert len(client.get("/api/v1/models/", {"page_size": size}).json()["results"]) == 3


def test_too_many_requests_say_when_to_come_back(api_client: MakeClient, settings: object) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2  # type: ignore[attr-defined]
    client, other = api_client(), api_client()
    answers = [client.get("/api/v1/models/") for _ in range(3)]
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    check(answers[2], 429, "too_many")
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
    assert other.get("/api/v1/models/").status_code == 200


def test_a_defect_is_told_without_details() -> None:
    request = RequestFactory().get("/api/v1/models/")
    answer = views.server_error(request)
    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/json"
    assert views.server_error(RequestFactory().get("/")).status_code == 500


def test_pages_have_their_own_error_pages() -> None:
    answer = Client().get("/nothing/")
    assert answer.status_code == 404
    assert 'class="card' in answer.content.decode()
    refused = Client(enforce_csrf_checks=True).post("/account/login/", {"login": "x", "password": "y"})
    assert refused.status_code == 403
    assert "once more" in refused.content.decode()
    for name in (views.bad_request, views.permission_denied):
        assert name(RequestFactory().get("/"), Exception()).status_code in (400, 403)
        assert name(RequestFactory().get("/api/"), Exception()).headers["Content-Type"] == "application/json"
