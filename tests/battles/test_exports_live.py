"""Exports from a whole server: streamed as they are made, and by the same rules everywhere."""

import json
import time
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.live import Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")
# Votes of the person with long answers, as many bytes as the server must not hold at once.
FILL = """
from accounts.models import User
from battles.models import Battle, Preference, Response, Side, Turn
from providers.models import LanguageModel
owner = User.objects.get(username="{name}")
models = list(LanguageModel.objects.order_by("pk")[:2])
battles = Battle.objects.bulk_create([Battle(owner=owner) for _ in range({votes})])
turns = Turn.objects.bulk_create([Turn(battle=b, number=1, prompt=f"Long {{b.pk}}?") for b in battles])
sides = Side.objects.bulk_create([Side(battle=b, model=m, label=x) for b in battles for m, x in zip(models, "ab")])
Response.objects.bulk_create([
    Response(turn=turns[i // 2], side=s, model_id=s.model_id, status="finished", text=f"{{s.pk}} " + "x" * {size})
    for i, s in enumerate(sides)
], batch_size=500)
Preference.objects.bulk_create([
    Preference(battle=b, voter=owner, choice="winner", winner=sides[2 * i], turns=1) for i, b in enumerate(battles)
])
"""
VOTES = 3000
CHARACTERS = 10_000
# Time in which a server that does not wait for its reader would have made all of it.
AHEAD_SECONDS = 1.5


def opened(person: Person, path: str) -> HTTPResponse:
    request = urllib.request.Request(
        f"{person.server.url}/api/v1/{path}", headers={"Authorization": f"Bearer {person.account.api_key}"}
    )
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=60)
    return answer


def peak_megabytes(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of another process is read from /proc")
def test_a_large_export_is_streamed_and_never_held(server: Server) -> None:
    person = Person(server, server.accounts[7])
    server.manage("shell", "-v0", "-c", FILL.format(name=person.account.username, votes=VOTES, size=CHARACTERS))
    with opened(person, "exports/dpo/?category=math") as nothing:
        assert nothing.headers["X-Message"]
    before = peak_megabytes(server)
    with opened(person, "exports/dpo/") as answer:
        assert answer.headers["Transfer-Encoding"] == "chunked"
        first = answer.readline()
        time.sleep(AHEAD_SECONDS)
        held = peak_megabytes(server) - before
        rest = sum(1 for _ in answer)
    assert json.loads(first)["prompt"].startswith("Long ")
    assert rest == VOTES - 1
    assert held < 2 * VOTES * CHARACTERS / 2**20 / 2


def test_who_leaves_in_the_middle_of_an_export_breaks_nothing(server: Server) -> None:
    person = Person(server, server.accounts[7])
    with opened(person, "exports/dpo/") as answer:
        answer.read(1000)
    assert person.call("GET", "models/")[0] == 200


def test_the_arenas_export_and_exports_dpo_have_the_same_pairs(server: Server) -> None:
    person = Person(server, server.accounts[8])
    asked = {"prompt": "Which rules?", "models": ["axolotl-steady", "axolotl-other", "axolotl-thinker"]}
    _, run = person.call("POST", "arena/run", asked)
    person.call("POST", "arena/preference", {"id": run["id"], "winner": "axolotl-other"})
    _, told = person.call("GET", "arena/export_dpo")
    _, text = person.call_raw("GET", "exports/dpo/")
    rows = [json.loads(line) for line in text.splitlines()]
    assert told["pairs"] == [{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in rows]
    assert told["count"] == 2
