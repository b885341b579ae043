"""A model reads a conversation: asked with a schema where that can be, and kept side by side."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.analysis_texts import PROPERTIES, result_markdown, result_read, transcript
from tests.conversations.live import act, start, until_still
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
