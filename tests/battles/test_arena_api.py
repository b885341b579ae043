"""One prompt, all models: the annotation tool's shapes, against a whole server."""

from random import Random
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.suggesting import suggest
from tests.fakes import scripts
from tests.live import JSON, Person

pytestmark = pytest.mark.xdist_group("server")
NAMES = ["axolotl-steady", "axolotl-refuses-401", "axolotl-other"]


def run(person: Person, **fields: object) -> JSON:
    status, found = person.call("POST", "arena/run", {"prompt": "Why is the sky blue?", "models": NAMES, **fields})
    assert status == 200, found
    return found


def test_a_run_asks_all_and_one_failure_holds_up_nobody(person: Person) -> None:
    found = run(person)
    assert set(found) == {"id", "prompt", "results"}
    assert found["prompt"] == "Why is the sky blue?"
    assert [result["label"] for result in found["results"]] == NAMES
    steady, refused, other = found["results"]
    assert (steady["response"], steady["error"]) == (scripts.STEADY, None)
    assert steady["latency_ms"] > 0
    assert refused["response"] == ""
    assert "did not accept our key" in refused["error"]
    assert other["response"]


def test_a_winner_is_recorded_by_id_with_the_leaderboard(person: Person) -> None:
    found = run(person)
    status, said = person.call("POST", "arena/preference", {"id": found["id"], "winner": "axolotl-other"})
    assert status == 200, said
    assert said["recorded"] is True
    assert isinstance(said["leaderboard"], list)
    status, again = person.call("POST", "arena/preference", {"id": found["id"], "winner": "axolotl-other"})
    assert (status, again["error"]["code"]) == (409, "already_voted")


def test_a_ranking_is_recorded_by_prompt_and_exported_in_all_its_pairs(person: Person) -> None:
    prompt = "A prompt of this test only"
    names = ["axolotl-steady", "axolotl-other", "axolotl-thinker"]
    texts = {one["label"]: one["response"] for one in run(person, prompt=prompt, models=names)["results"]}
    ranking = ["axolotl-other", "axolotl-steady", "axolotl-thinker"]
    status, said = person.call(
        "POST", "arena/preference/", {"prompt": prompt, "winner": ranking[0], "ranking": ranking}
    )
    assert status == 200, said
    status, exported = person.call("GET", "arena/export_dpo")
    pairs = [(pair["chosen"], pair["rejected"]) for pair in exported["pairs"] if pair["prompt"] == prompt]
    assert sorted(pairs) == sorted((texts[ranking[i]], texts[ranking[j]]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert exported["count"] == len(exported["pairs"])


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"prompt": "   "}, 400, "prompt"),
        ({"prompt": ""}, 400, "prompt"),
        ({"prompt": "x", "models": ["nobody", "axolotl-steady"]}, 400, "models"),
    ],
)
def test_a_run_that_cannot_be_is_refused(person: Person, body: JSON, status: int, said: str) -> None:
    found = person.call("POST", "arena/run", body)
    assert found[0] == status
    assert said in found[1]["error"]["message"].lower()


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 400, "winner"),
        ({"winner": "axolotl-slow"}, 400, "took no part in this run"),
        ({"winner": "axolotl-refuses-401"}, 400, "has no answer"),
        ({"winner": "axolotl-other", "ranking": ["axolotl-steady", "axolotl-other"]}, 400, "must stand first"),
        ({"winner": "axolotl-other", "ranking": ["axolotl-other", "axolotl-other"]}, 400, "twice"),
    ],
)
def test_a_preference_that_cannot_be_is_refused(person: Person, body: JSON, status: int, said: str) -> None:
    found = person.call("POST", "arena/preference", {"id": run(person)["id"], **body})
    assert found[0] == status
    assert said in found[1]["error"]["message"]


def test_a_run_of_somebody_else_is_not_judged(person: Person) -> None:
    stranger = Person(person.server, person.server.accounts[2])
    found = run(person)
    assert stranger.call("POST", "arena/preference", {"id": found["id"], "winner": "axolotl-other"})[0] == 404


def test_the_key_may_come_as_the_tools_scripts_send_it(person: Person) -> None:
    url = f"{person.server.url}/api/v1/arena/suggest_pairs?k=3&strategy=random"
    answer = urlopen(Request(url, headers={"X-API-Key": person.account.api_key}))
    assert answer.status == 200
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(url))
    assert caught.value.code == 401


def test_pairs_are_suggested(person: Person) -> None:
    status, found = person.call("GET", "arena/suggest_pairs?k=3&strategy=moderate_margin")
    assert status == 200
    assert len(found["pairs"]) == 3
    assert all(pair["model_a"] != pair["model_b"] for pair in found["pairs"])
    assert person.call("GET", "arena/suggest_pairs?strategy=best")[0] == 400


@given(st.lists(st.tuples(st.floats(0, 3000), st.floats(1, 500)), min_size=2, max_size=8), st.integers(1, 40))
def test_no_pair_is_suggested_twice_and_the_least_known_comes_first(rated: list[tuple[float, float]], k: int) -> None:
    ratings, errors = zip(*rated, strict=True)
    pairs = suggest(ratings, errors, k, "uncertainty", Random(1))
    assert len(pairs) == len(set(pairs)) == min(k, len(ratings) * (len(ratings) - 1) // 2)
    apart = [abs(ratings[a] - ratings[b]) / (errors[a] ** 2 + errors[b] ** 2) ** 0.5 for a, b in pairs]
    assert apart == sorted(apart)


def test_a_model_without_a_rating_is_compared_first() -> None:
    assert 2 in suggest([1000.0, 1000.0, None], [10.0, 10.0, None], 1, "uncertainty", Random(1))[0]
