"""Guards over the whole installation: who may open which address, what every answer carries, what must not be
forgotten."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from rest_framework.views import APIView

from accounts.permissions import HasScope, _required

SCHEMA_FILE = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
METHODS = ("get", "post", "put", "patch", "delete")

# Every address that a stranger may open, and with which status. All others must send strangers to the log-in, or
# refuse them. Add a line only for what is meant for everybody.
PUBLIC = {
    "": 200,
    "leaderboard/": 200,
    "leaderboard/methodology/": 200,
    "leaderboard/table.<slug:ending>": 404,  # for csv and json
    "leaderboard/charts/<slug:name>.<slug:ending>": 404,  # for charts that there are
    "leaderboard/badge/<slug:slug>.svg": 404,  # for models that there are
    "s/<slug:token>/": 404,  # for who has the token
    "images/<uuid:image_id>/": 404,  # for who may see its battle
    "account/link/<str:uid>/<str:token>/": 410,  # for who has the link
    "account/proof/<slug:purpose>/": 404,  # where this server wants a proof of work
    "account/login/": 200,
    "account/logout/": 302,  # to the start page
    "account/signup/": 200,
    "account/inactive/": 200,
    "account/confirm-email/": 200,
    r"account/^confirm-email/(?P<key>[-:\w]+)/$": 200,
    "account/password/reset/": 200,
    "account/password/reset/done/": 200,
    r"account/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$": 200,
    "account/password/reset/key/done/": 200,
    "api/v1/health/": 200,
    "api/v1/schema/": 200,
    "api/v1/docs/": 200,
}
LOG_INS = ("/account/login/", "/admin/login/")
# allauth and the admin send a stranger who logs out, or who confirms nothing, to these instead.
OTHER_DOORS = {"admin/logout/": "/admin/", "account/login/code/confirm/": "/account/login/"}
SAMPLES = {"int": "1", "uuid": "00000000-0000-4000-8000-000000000000", "str": "x", "path": "x", "slug": "x"}


def addresses(resolver: URLResolver | None = None, route: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every pattern with its whole route."""
    for pattern in (resolver or get_resolver()).url_patterns:
        here = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, here)
        else:
            yield here, pattern


def sample(route: str) -> str:
    """An address that matches the route."""
    route = re.sub(r"\(\?P<\w+>[^)]*\)", "x", route).replace("^", "").replace("$", "").replace("/?", "/")
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES[found[1] or "str"], route)


ADDRESSES = dict(addresses())


def test_samples_fit_their_routes() -> None:
    assert isinstance(ADDRESSES["battle/"].pattern, RoutePattern)
    assert sample("a/<uuid:id>/<str:b>/") == f"/a/{SAMPLES['uuid']}/x/"
    for route, pattern in ADDRESSES.items():
        found = get_resolver().resolve(sample(route)).func
        assert found == pattern.callback or route.startswith("admin/"), route


def test_the_table_of_public_addresses_has_no_stale_line() -> None:
    assert set(PUBLIC) | set(OTHER_DOORS) <= set(ADDRESSES)


@pytest.mark.django_db
@pytest.mark.parametrize("route", sorted(set(ADDRESSES) - set(PUBLIC)))
def test_a_stranger_is_kept_out(route: str) -> None:
    for method in METHODS if route.startswith("api/") else ("get", "post"):
        answer = getattr(Client(), method)(sample(route))
        if answer.status_code == 302:
            target = answer.headers["Location"]
            assert target.startswith((*LOG_INS, *filter(None, [OTHER_DOORS.get(route)]))), (route, target)
        else:
            assert answer.status_code in (401, 403) or (method, answer.status_code) == ("get", 405), (route, method)


@pytest.mark.django_db
@pytest.mark.parametrize(("route", "status"), PUBLIC.items())
def test_what_is_public_opens(route: str, status: int) -> None:
    assert Client().get(sample(route), follow=False).status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize("route", sorted(ADDRESSES))
def test_every_answer_has_a_policy_without_inline_script(route: str) -> None:
    answer = Client().get(sample(route))
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'" or route == "api/v1/docs/"
    if "text/html" in answer.headers.get("Content-Type", ""):
        page = answer.content.decode()
        assert not re.search(r"<script(?![^>]*\b(src=|type=.application/json))", page), "a script stands in the page"
        assert not re.search(r"<[^>]*\son\w+=", page), "an event handler stands in the page"
        assert route == "api/v1/docs/" or not re.search(r"<style|<[^>]*\sstyle=", page), "a style stands in the page"


def test_every_api_view_names_the_scope_of_each_method() -> None:
    for route, pattern in ADDRESSES.items():
        view = getattr(pattern.callback, "cls", None)
        if view is None or not issubclass(view, APIView) or HasScope not in view.permission_classes:
            continue
        for method in METHODS:
            if hasattr(view, method):
                assert _required(method.upper(), view()), (route, method)


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=io.StringIO())


def schema_text() -> str:
    """What `make docs` writes: `manage.py spectacular --file docs/openapi.yaml`."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return OpenApiYamlRenderer().render(schema, renderer_context={}).decode()


def test_the_checked_in_schema_is_that_of_the_code() -> None:
    GENERATOR_STATS.reset()
    text = schema_text()
    assert not GENERATOR_STATS, "drf-spectacular warns: run `manage.py spectacular --validate --fail-on-warn`"
    assert SCHEMA_FILE.read_text() == text, "run `manage.py spectacular --file docs/openapi.yaml`"
