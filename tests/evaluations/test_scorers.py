"""Scorers that need no judge find what is right, whatever the answer and the pattern."""

from typing import Any

import pytest

from evaluations.scorers import MATCHERS, Match, Rubric, ScorerInvalid, last_number, on_scale, scorers_read
from evaluations.verdicts import State, ratings_read


def match(text: str, /, **scorer: Any) -> Match:
    (found,) = scorers_read([scorer], turns=1)
    assert isinstance(found, MATCHERS)
    return found.match(text)


@pytest.mark.parametrize(
    ("scorer", "right", "wrong"),
    [
        ({"kind": "exact", "answers": ["New York", "NYC"]}, "  New\nYork ", "It is New York"),
        ({"kind": "exact", "answers": ["Straße"], "ignore_case": True}, "STRASSE", "Strase"),
        ({"kind": "contains", "answers": ["Ada", "Grace"]}, "grace and ADA", "Ada alone"),
        ({"kind": "regex", "pattern": r"^\d{4}-\d{2}$"}, "It was in\n2024-05\n", "It was in 2024-05."),
        ({"kind": "numeric", "answer": 0.3}, "0.1 + 0.2 = 0.30000000000000004", "0.31"),
        ({"kind": "numeric", "answer": 200, "relative": 0.05}, "about 191", "about 189"),
        ({"kind": "numeric", "answer": -5, "tolerance": 0.5}, "\u22125.4", "5"),
        ({"kind": "json_schema", "schema": {"required": ["a"]}}, 'Here:\n```json\n{"a": 1}\n```\n', '{"b": 1}'),
        ({"kind": "json_schema", "schema": {"type": "integer"}}, "3", "NaN"),
        ({"kind": "json_schema", "schema": {"type": "array"}}, "[]", "[" * 100_000),
    ],
)
def test_a_right_answer_matches_and_a_wrong_one_does_not(scorer: dict[str, Any], right: str, wrong: str) -> None:
    assert match(right, **scorer).passed
    assert not match(wrong, **scorer).passed


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The total is 1,234.50 euros.", 1234.5),
        ("so \\boxed{42} of 50", 42),
        ("3 to 5", 5),
        ("between 3-5", 5),
        ("6.02e23", 6.02e23),
        ("version v2", None),
        ("1" * 100_000, None),
        ("none", None),
    ],
)
def test_the_number_that_an_answer_ends_with_is_read(text: str, number: float | None) -> None:
    assert last_number(text) == number


def test_a_careless_pattern_costs_no_time() -> None:
    assert not match("a" * 200_000 + "b", kind="regex", pattern="(a+)+$").passed
    schema = {"properties": {"a": {"pattern": "^(x+x+)+y"}}, "patternProperties": {"(b+)+$": {"type": "null"}}}
    assert not match('{"a": "' + "x" * 200_000 + '"}', kind="json_schema", schema=schema).passed
    assert match('{"' + "b" * 10_000 + 'c": 1}', kind="json_schema", schema=schema).passed


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$ref": "http://127.0.0.1:1/schema.json"}])
def test_a_schema_that_cannot_be_applied_matches_nothing_and_fetches_nothing(schema: dict[str, Any]) -> None:
    assert "cannot be applied" in match("{}", kind="json_schema", schema=schema).found


@pytest.mark.parametrize(
    ("scorers", "message"),
    [
        ({"kind": "exact"}, "array"),
        ([{"kind": "similar"}], "similar"),
        ([{"kind": "exact", "answers": []}], "length >= 1"),
        ([{"kind": "exact", "answers": ["a"], "weigth": 1}], "weigth"),
        ([{"kind": "exact", "answers": ["a"], "turn": 3}], "no turn 3"),
        ([{"kind": "regex", "pattern": "(?=a)"}], "RE2 does not take"),
        ([{"kind": "regex", "pattern": "("}], "RE2 does not take"),
        ([{"kind": "json_schema", "schema": {"type": "nothing"}}], "no JSON schema"),
        ([{"kind": "json_schema", "schema": {"items": [{"pattern": "(?=a)"}]}}], "no JSON schema"),
        ([{"kind": "rubric", "criteria": []}], "length >= 1"),
        ([{"kind": "rubric", "criteria": [{"name": "a"}, {"name": "A"}]}], "same name"),
        ([{"kind": "rubric", "criteria": [{"name": "a"}], "low": 5}], "lower to a higher"),
        ([{"kind": "rubric", "criteria": [{"name": "a", "weight": 0}]}], "> 0"),
        ([{"kind": "judge"}] * 17, "length <= 16"),
        ([{"kind": "judge"}, {"kind": "judge", "turn": 2}], "name each turn once"),
        ([{"kind": "judge", "turn": 2}, {"kind": "judge", "turn": 2}], "name each turn once"),
    ],
)
def test_scorers_that_cannot_be_are_named(scorers: Any, message: str) -> None:
    with pytest.raises(ScorerInvalid, match=message):
        scorers_read(scorers, turns=2)


def test_a_rubric_weighs_its_criteria_on_the_scale_of_all_scores() -> None:
    (rubric,) = scorers_read([{"kind": "rubric", "criteria": [{"name": "a", "weight": 3}, {"name": "b"}]}], turns=1)
    assert isinstance(rubric, Rubric)
    assert on_scale(rubric.mean({"a": 5, "b": 1})) == pytest.approx(1 + 9 * 0.75)
    assert [on_scale(rubric.mean({"a": n, "b": n})) for n in (1, 5)] == [1, 10]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("clarity: [[4]]\nstyle: [[2]]", State.OK),
        ("**Clarity**: [[4/5]], **style** -- [[2]]", State.OK),
        ("Both fine.\nClarity: 4\nStyle: 2", State.OK),
        ("clarity: [[1-5]]\nstyle: [[1-5]]", State.PARSE),
        ("clarity: [[4]]", State.PARSE),
        ("clarity: [[4]] or clarity: [[3]], style: [[2]]", State.PARSE),
        ("clarity: [[4/10]] style: [[2]]", State.PARSE),
        ("clarity: [[9]] style: [[2]]", State.OUT_OF_RANGE),
        ("I'm sorry, I cannot rate this.", State.REFUSED),
        ("", State.PARSE),
    ],
)
def test_ratings_are_read_by_criterion_or_not_at_all(text: str, state: State) -> None:
    verdict = ratings_read(text, ["clarity", "style"], low=1, high=5)
    assert verdict.state == state
    assert verdict.ratings == ({"clarity": 4, "style": 2} if state is State.OK else None)
