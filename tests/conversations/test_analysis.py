"""A model reads a conversation: asked with a schema where that can be, and kept side by side."""

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from conversations import selectors
from conversations.analysis_texts import PROPERTIES, result_markdown, result_read, transcript
from tests import factories
from tests.conversations.live import act, start, until_still
from tests.conversations.rows import conversation
from tests.fakes.scripts import READING
from tests.fakes.upstream import Upstream
from tests.live import Person


@pytest.mark.xdist_group("server")
def test_two_readings_stand_side_by_side_and_the_schema_is_given_up_where_it_must(
    person: Person, upstream: Upstream
) -> None:
    made = start(person, "steady", "other", max_turns=2)
    assert act(person, made, "analysis", {"model": "axolotl-reader"}, expect=409)["error"]["code"] == "nothing_to_read"
    act(person, made, "run")
    until_still(person, made)
    for script in ("reader", "no-schema", "broken-500", "other"):
        act(person, made, "analysis", {"model": f"axolotl-{script}", "rubric": "Who was kinder?"}, expect=201)
    read = until_still(person, made)["analyses"]
    by_model = {one["model"].removeprefix("axolotl-"): one for one in read}
    for script in ("reader", "no-schema"):
        assert by_model[script]["result"] == json.loads(READING)
        assert by_model[script]["metrics"]["cost"] > 0
        assert "<strong>Who led:</strong> Agent B" in by_model[script]["html"]
    assert by_model["broken-500"]["status"] == "failed"
    assert by_model["other"]["result"] is None
    assert by_model["other"]["problem"]
    asked = upstream.asked("reader")[-1]
    assert asked.sampling["response_format"]["json_schema"]["schema"]["required"] == list(PROPERTIES)
    question = asked.messages[-1]["content"]
    assert "[turn 2, agent B (Axolotl other)]" in question
    assert question.endswith("Who was kinder?")
    assert "response_format" not in upstream.asked("no-schema")[-1].sampling


@pytest.mark.xdist_group("server")
def test_an_analysis_that_failed_is_had_once_more_in_its_place(person: Person, upstream: Upstream) -> None:
    made = start(person, "steady", "other", max_turns=1)
    act(person, made, "turn", expect=201)
    act(person, made, "analysis", {"model": "axolotl-broken-500", "rubric": "Who was kinder?"}, expect=201)
    (failed,) = until_still(person, made)["analyses"]
    assert failed["status"] == "failed"
    before = len(upstream.asked("broken-500"))
    again = f"analysis/{failed['id']}/retry"
    assert act(person, made, again, expect=201)["analyses"][0]["id"] == failed["id"]
    (still,) = until_still(person, made)["analyses"]
    assert (still["status"], still["rubric"]) == ("failed", "Who was kinder?")
    assert len(upstream.asked("broken-500")) > before
    act(person, made, f"analysis/{made['id']}/retry", expect=404)
    act(person, made, "analysis", {"model": "axolotl-reader"}, expect=201)
    good = next(one for one in until_still(person, made)["analyses"] if one["result"])
    refused = act(person, made, f"analysis/{good['id']}/retry", expect=409)
    assert refused["error"]["code"] == "nothing_to_retry"


@pytest.mark.django_db
def test_the_dearest_model_reads_until_one_is_rated_best() -> None:
    cheap, dear = (factories.language_model(slug, output_price=price) for slug, price in (("cheap", 1), ("dear", 9)))
    assert selectors.analyst_default() == dear
    with patch.object(selectors, "ratings_now", lambda ids: {cheap.pk: SimpleNamespace(rating=1200.0)}):
        assert selectors.analyst_default() == cheap
    dear.status = "retired"
    dear.save()
    assert selectors.analyst_default() == cheap


@pytest.mark.django_db
def test_analyses_are_read_side_by_side_part_by_part(client: Client) -> None:
    made = conversation()
    for slug, summary in (("one", "They greet."), ("other", "<b>Nothing</b> happens.")):
        result = result_read(json.dumps({"summary": summary, "led": "a", "moments": [{"turn": 2, "what": slug}]}))
        made.analyses.create(
            model_slug=slug, prompt_version="1", rubric="Who?", turns=2, result=result, status="finished"
        )
    client.force_login(made.owner)
    shown = client.get(f"/conversations/{made.pk}/analyses/")
    parts = dict(shown.context["parts"])
    assert parts["Summary"] == [["They greet."], ["<b>Nothing</b> happens."]]
    assert parts["Notable moments"] == [["Turn 2: one"], ["Turn 2: other"]]
    assert "Conflict" not in parts
    assert "&lt;b&gt;Nothing" in shown.content.decode()
    client.force_login(factories.user())
    assert client.get(f"/conversations/{made.pk}/analyses/").status_code == 404


@pytest.mark.xdist_group("server")
def test_without_a_choice_a_model_is_chosen_and_an_unknown_one_is_refused(person: Person) -> None:
    made = start(person, "steady", "other", max_turns=1)
    act(person, made, "turn", expect=201)
    assert act(person, made, "analysis", {"model": "nobody"}, expect=400)
    assert act(person, made, "analysis", {}, expect=201)["analyses"][0]["model"]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('{"summary": "Short."}', "Short."),
        ('```json\n{"summary": "Fenced.",}\n```', "Fenced."),
        (
            '<think>{"a": 1}</think> Sure! {"summary": "After words.", "topics": "one"} I hope this helps.',
            "After words.",
        ),
        ('{"summary": "Line\nbreak"}', "Line\nbreak"),
        ('{"summary": ["two", "parts"]}', "two; parts"),
        ('{"summary": "Cut off in the mid', "Cut off in the mid"),
        ('{"summary": "Cut \\"off\\\\", "topics": ["one", "two', 'Cut "off\\'),
        ('{"summary": "Cut off behind it", "moments": [{"turn": 1, "what": "x"},', "Cut off behind it"),
    ],
)
def test_what_a_model_writes_around_the_object_is_borne(text: str, summary: str) -> None:
    read = result_read(text)
    assert read is not None
    assert read["summary"] == summary
    assert set(read) == set(PROPERTIES)


@pytest.mark.parametrize("text", ["", "No object.", "{", '{"other": 1}', "[1, 2]", "{" * 5_000])
def test_what_holds_no_object_is_said_to_hold_none(text: str) -> None:
    assert result_read(text) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(PROPERTIES)), VALUES, min_size=1))
def test_whatever_the_values_are_the_result_can_be_shown(values: dict[str, Any]) -> None:
    read = result_read(json.dumps(values))
    assert read is not None
    assert isinstance(result_markdown(read), str)
    assert result_read(json.dumps(read)) == read


def test_a_long_conversation_is_shortened_to_the_window() -> None:
    lines = [(f"turn {n}, agent A", "word " * 1000) for n in range(1, 11)]
    text = transcript(lines, seed_prompt="Begin.", rubric="", characters=5_000)
    assert len(text) < 6_000
    assert all(f"[turn {n}, agent A]" in text for n in range(1, 11))
