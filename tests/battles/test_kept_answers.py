"""On a running server: an answer from the store looks like any other, and only the operator can tell."""

import json
import uuid

import pytest

from tests.fakes.scripts import OTHER, STEADY
from tests.fakes.upstream import Upstream
from tests.live import Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")

# Fields of a record that tell the models, or that nobody was asked.
TELLING = ("cached", "kept", "messages_hash", "sampling", "request_id", "upstream_model", "adapter", "seed", "usage")


@pytest.fixture
def keeping(server: Server) -> None:
    """Answers of the models that play a script are kept; by the end of the test none is any more."""
    server.manage("shell", "-c", "from providers.models import *; Endpoint.objects.update(cache_seconds=600)")


def end(server: Server) -> list[str]:
    """Keep nothing any more; what the responses of the newest battle were, for the operator."""
    script = (
        "from providers.models import *; from battles.models import *;"
        "Endpoint.objects.update(cache_seconds=0); CachedAnswer.objects.all().delete();"
        "rows = Response.objects.filter(turn__battle=Battle.objects.latest('created_at'));"
        "print('ROWS', *[f'{row.is_cached}:{row.cost:.2f}' for row in rows])"
    )
    out = server.manage("shell", "-c", script)
    return out.partition("ROWS ")[2].split()


def test_somebody_else_reads_the_same_words_and_nobody_is_asked_again(
    server: Server, keeping: None, upstream: Upstream
) -> None:
    prompt = f"Why is the sky blue? {uuid.uuid4()}"
    first, second = Person(server, server.accounts[3]), Person(server, server.accounts[4])
    try:
        battle = first.battle("steady", "other", prompt=prompt)
        with first.watch(battle["id"]) as window:
            window.until_ended()
        asked = len(upstream.requests)
        battle = second.battle("steady", "other", prompt=prompt)
        with second.watch(battle["id"]) as window:
            ends = window.until_ended()
            frames = json.dumps(window.frames).lower()
    finally:
        rows = end(server)
    assert {ended["text"] for ended in ends.values()} == {STEADY, OTHER}
    assert len(upstream.requests) == asked
    assert rows == ["True:0.00", "True:0.00"]
    assert [word for word in TELLING if f'"{word}' in frames or f'_{word}"' in frames] == []
    assert '"delta"' in frames or '"block"' in frames, "it is written piece by piece"


def test_a_person_never_gets_an_answer_twice(server: Server, keeping: None, upstream: Upstream) -> None:
    prompt = f"Why is the sky blue? {uuid.uuid4()}"
    person = Person(server, server.accounts[5])
    try:
        for _ in range(2):
            battle = person.battle("steady", "other", prompt=prompt)
            with person.watch(battle["id"]) as window:
                window.until_ended()
    finally:
        rows = end(server)
    assert all(row.startswith("False:") for row in rows)
    assert sum(request.messages[-1]["content"] == prompt for request in upstream.requests) == 4
