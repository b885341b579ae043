"""The web server keeps no more of a request than it must, whoever sends it."""

import http.client
import json
from collections.abc import Iterator

import pytest

from tests.live import Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")

MEGABYTE = 1024 * 1024


def pieces(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield bytes(MEGABYTE)


@pytest.mark.parametrize("is_announced", [True, False])
@pytest.mark.parametrize("path", ["/api/v1/battles/", "/account/login/"])
def test_a_request_over_the_limit_is_refused_and_the_connection_stays(
    server: Server, path: str, is_announced: bool
) -> None:
    over = int(server.environment["REQUEST_MAX_MB"]) + 1
    length = {"Content-Length": str(over * MEGABYTE)} if is_announced else {"Transfer-Encoding": "chunked"}
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    connection.request("POST", path, pieces(over), length, encode_chunked=not is_announced)
    answer = connection.getresponse()
    said = answer.read().decode()
    assert answer.status == 413
    assert "The request is larger than this server accepts." in said
    if path.startswith("/api/"):
        assert json.loads(said)["error"]["code"] == "too_large"
    connection.request("GET", "/api/v1/health/")
    assert connection.getresponse().status == 200
    connection.close()


def test_what_is_no_upload_may_not_even_have_that_size(person: Person) -> None:
    status, answer = person.call("POST", "battles/", {"prompt": "x" * (3 * MEGABYTE)})
    assert (status, answer["error"]["code"]) == (413, "too_large")
