"""Reading results: stored when a run ends, filtered, compared, and held against people."""

import json
import re
from typing import Any, cast

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from common.charts.figure import svg_file
from common.charts.paint import colour_of, light
from evaluations.agreement import Vote
from evaluations.models import ReferenceAnswer, Run, RunPair, Summary, VoteSet
from evaluations.reading.answers import Filter, rows
from evaluations.reading.differences import changes, differences, holm
from evaluations.reading.judging import Judged, leanings
from evaluations.reading.texts import pieces
from evaluations.reading.votes import beside, votes_report
from evaluations.reports.figures import figures_of
from evaluations.scoring import Game, Score
from evaluations.selectors import games_of, newest_reference, scores_of
from evaluations.services import (
    run_clear_failed,
    run_do,
    run_pair_refresh,
    run_rejudge,
    summary_refresh,
    votes_import,
)
from tests import factories
from tests.evaluations.scripted import Always, Ground


def done(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


@pytest.fixture
def admin(client: Client, db: None) -> Client:
    client.force_login(factories.staff())
    return client


def page(client: Client, name: str, *arguments: object, query: str = "") -> str:
    answer = client.get(reverse(f"evaluations:{name}", args=arguments) + query)
    assert answer.status_code == 200
    return answer.content.decode()


# Pure


def grades(values: dict[int, float], *, turn: int = 1, category: str = "math") -> list[Score]:
    return [Score("m", question, category, turn, score) for question, score in values.items()]


def test_a_difference_is_paired_by_question() -> None:
    first = {"m": grades({1: 5, 2: 3, 3: 8, 9: 1})}
    second = {"m": grades({1: 6, 2: 5, 3: 8, 7: 9})}
    whole, part, turn = differences([("m", "m")], first, second)
    assert (whole.questions, whole.difference, whole.better, whole.same, whole.worse) == (3, 1.0, 2, 1, 0)
    assert (whole.first_mean, whole.second_mean) == (pytest.approx(16 / 3), pytest.approx(19 / 3))
    assert (part.part, turn.part) == ("category:math", "turn:1")
    assert whole.p_sign == 0.5
    assert not whole.is_significant
    assert [change.question for change in changes([("m", "m")], first, second)] == [2, 1, 3]


def test_a_clear_change_is_significant_and_none_is_not() -> None:
    first = {"m": grades({number: 4 + number % 3 for number in range(30)})}
    second = {"m": grades({number: 6 + number % 3 + (number % 5) / 10 for number in range(30)})}
    assert differences([("m", "m")], first, second)[0].is_significant
    same = differences([("m", "m")], first, first)[0]
    assert (same.difference, same.p_wilcoxon, same.p_sign, same.is_significant) == (0.0, 1.0, 1.0, False)
    assert differences([("m", "m")], first, {"m": grades({99: 1})}) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holms_correction_keeps_the_order_and_lies_between_its_bounds(values: list[float]) -> None:
    """Never below the value nor above Bonferroni's; and above the false discovery rate's, which asks less."""
    adjusted = holm(values)
    assert all(p <= q <= min(1.0, p * len(values)) + 1e-12 for p, q in zip(values, adjusted, strict=True))
    assert sorted(range(len(values)), key=lambda at: (values[at], at)) == sorted(
        range(len(values)), key=lambda at: (adjusted[at], values[at], at)
    )
    assert all(q >= other - 1e-12 for q, other in zip(adjusted, false_discovery_control(values), strict=True))


def test_a_worked_example_of_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


CELLS = {
    "a": {"1": {"1": [9.0, 0.0, False], "2": [7.0, 3.0, False]}, "2": {"1": [5.0, 0.0, True]}},
    "b": {"1": {"1": [2.0, 1.0, False], "2": [4.0, 0.0, False]}, "2": {"1": [None, 0.0, True]}},
}


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({}, [1, 2, 3]), ({"category": "math"}, [1, 3]), ({"gap": 5.0}, [1]), ({"gap": 5.1}, []), ({"apart": 2.0}, [1]),
        ({"turn": 2, "gap": 3.0}, [1]), ({"turn": 2, "gap": 3.1}, []), ({"below": 3.5}, [1]), ({"failed": True}, [2]),
        ({"order": "lowest"}, [1, 2, 3]), ({"order": "gap"}, [1, 2, 3]), ({"turn": 1, "apart": 2.0}, []),
    ],
)  # fmt: skip
def test_a_filter_keeps_the_questions_worth_reading(fields: dict[str, Any], numbers: list[int]) -> None:
    asked = [(1, "math"), (2, "writing"), (3, "math")]
    assert [row.number for row in rows(CELLS, asked, Filter(models=("a", "b"), **fields))] == numbers


def test_leanings_of_a_judge_that_takes_the_first() -> None:
    games = [Game("x", "y", number, "math", 1, 1, 2) for number in range(4)]
    found = leanings(
        "j", {"j": Judged([], games)}, {("x", n, 1): 10 for n in range(4)} | {("y", n, 1): 5 for n in range(4)}
    )
    assert (found["flipped"]["rate"], found["first_shown"]["rate"], found["longer_wins"]["of"]) == (1.0, 1.0, 0)
    assert found["mean"] is None


def test_a_judge_that_prefers_its_own_answers() -> None:
    mine = Judged([], [Game("j", "y", n, "math", 1, 1, 1) for n in range(4)])
    other = Judged([], [Game("y", "j", n, "math", 1, 1, 1) for n in range(4)])
    found = leanings("j", {"j": mine, "other": other}, {})
    assert found["wins_of_its_own"] == 1.0


def vote(person: str, says: str, **fields: Any) -> Vote:
    usual = {
        "question": "1", "category": "", "turn": 1, "model_a": "x", "model_b": "y", "judge": "", "judge_says": "",
    }  # fmt: skip
    return Vote(**{**usual, "person": person, "person_says": says, **fields})


def test_votes_meet_verdicts_whatever_side_they_name_first() -> None:
    games = Judged([], [Game("y", "x", 1, "math", 1, 1, 1)])
    scores = Judged([Score("x", 1, "math", 1, 8), Score("y", 1, "math", 1, 8)], [])
    found = beside([vote("p", "model_b")], {"games": games, "grades": scores, "silent": Judged([], [])}, {"1": "math"})
    assert [(one.judge, one.judge_says, one.category) for one in found] == [
        ("games", "model_b", "math"), ("grades", "tie", "math"),
    ]  # fmt: skip
    (alone,) = beside([vote("p", "tie", question="9")], {"games": games}, {})
    assert alone.judge == ""


def test_people_agree_with_each_other_though_they_saw_the_sides_swapped() -> None:
    report = votes_report([vote("p", "model_a"), vote("q", "model_b", model_a="y", model_b="x"), vote("r", "model_b")])
    assert (report["votes"], report["people"], report["unjudged"]) == (3, 3, 3)
    assert (report["people_agree"]["with_ties"]["agreed"], report["people_agree"]["with_ties"]["of"]) == (1, 3)


def test_a_difference_of_texts_is_all_of_both() -> None:
    before, after = "The answer is 42, surely.", "The right answer is 41, surely."
    found = list(pieces(before, after))
    assert "".join(text for kind, text in found if kind != "ins") == before
    assert "".join(text for kind, text in found if kind != "del") == after
    assert ("del", "42") in found


# Stored


@pytest.mark.django_db
def test_a_run_that_ends_leaves_a_summary_and_its_page_computes_nothing(
    admin: Client, tiny: Ground, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    run = done(tiny.run(judges="judge beta"))
    summary = Summary.objects.get()
    assert summary.facts["cells"]["Alpha"]["1"]["2"] == [2.0, 0.0, True]

    def never(*arguments: Any) -> None:
        raise AssertionError("a bootstrap in a request")

    monkeypatch.setattr("evaluations.scoring._interval", never)
    with django_assert_max_num_queries(14):
        assert "1.50" in page(admin, "detail", run.pk)
    with django_assert_max_num_queries(8):
        page(admin, "detail", run.pk)
    for name in ("answers", "agreement"):
        with django_assert_max_num_queries(9):
            page(admin, name, run.pk)
    assert "1.5" in page(admin, "table", run.pk, "csv")


@pytest.mark.django_db
def test_a_run_without_a_summary_asks_a_worker_once_and_says_so(
    admin: Client, tiny: Ground, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("celery.current_app.send_task", lambda name, arguments, **more: sent.append((name, *arguments)))
    run = done(tiny.run())
    Summary.objects.all().delete()
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            assert "are being computed" in page(admin, "detail", run.pk)
    assert sent == [("evaluation_summary", str(run.pk))]
    summary_refresh(run_id=run.pk)
    assert "1.50" in page(admin, "detail", run.pk)


@pytest.mark.django_db
def test_a_summary_that_cannot_be_computed_costs_no_run(tiny: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**arguments: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("evaluations.running.summary_refresh", broken)
    run = done(tiny.run())
    assert (run.status, run.answers.count()) == ("done", 12)


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["single", "pairwise-all"])
def test_scores_are_kept_under_both_versions_of_a_reference(admin: Client, tiny: Ground, mode: str) -> None:
    tiny.upstream.scripts["judge"] = Always("Rating: [[4]] [[A]]" if mode == "single" else "[[A]]")
    run = done(tiny.run(mode=mode))
    assert newest_reference(run) == 0
    question = tiny.question_set.questions.get(number=1)
    ReferenceAnswer.objects.create(question=question, version=2, author="somebody", turns=["43.", "44."])
    before = run.judgments.count()
    done(run)
    assert run.judgments.count() == before, "a corrected reference alone has nothing judged again"
    assert newest_reference(run) == 2
    tiny.upstream.scripts["judge"] = Always("Rating: [[9]]" if mode == "single" else "[[B]]")
    run_rejudge(run=run, version=2)
    done(run)
    again = run.judgments.filter(reference_version=2)
    assert (again.count(), run.judgments.count()) == (4, before + 4)
    if mode == "single":
        under = {version: sum(score.score for score in scores_of(run, references=version)) for version in (0, 1, 2)}
        assert under == {0: 68.0, 1: 48.0, 2: 68.0}
        text = page(admin, "detail", run.pk, query="?references=1")
        assert "Up to version 1" in text
        assert "4.00" in text
        assert "5.67" in page(admin, "detail", run.pk)
        assert {"reference 1", "reference 2"} <= {
            f"reference {n}" for n in (1, 2) if f"reference {n}" in page(admin, "question", run.pk, 1)
        }
    else:
        assert len(games_of(run)) == len(games_of(run, references=1)) == 6
    assert run_clear_failed(run=run) == 0


@pytest.mark.django_db
def test_two_runs_are_compared_on_a_page_once_a_worker_has_done_it(admin: Client, tiny: Ground) -> None:
    first = done(tiny.run("first", models="alpha"))
    tiny.upstream.scripts["judge"] = Always("Rating: [[9]]")
    second = done(tiny.run("second", models="alpha", options={"seed": 1}))
    query = f"?first={first.pk}&second={second.pk}"
    assert "Compare two runs" in page(admin, "compare")
    assert "is being computed" in page(admin, "compare", query=query)
    run_pair_refresh(pair_id=RunPair.objects.get().pk)
    text = page(admin, "compare", query=query)
    assert "+7.50" in text
    assert "These are 5 tests" in text
    assert f"/evaluations/{second.pk}/questions/1/?models=alpha" in text
    assert "<svg" in page(admin, "compare_chart", "svg", query=query)
    assert "Choose two runs" in page(admin, "compare", query=f"?first={first.pk}&second={first.pk}")
    two = f"?first={first.pk}&second={first.pk}&first_model=Alpha&second_model=Beta"
    assert "No run that you see has a model Beta" in page(admin, "compare", query=two)
    other = done(tiny.run("other", models="beta"))
    two = f"?first={first.pk}&second={second.pk}&first_model=Alpha&second_model=Beta"
    assert "no model in common" in page(admin, "compare", query=two)
    text = page(admin, "compare", query=f"?first={other.pk}")
    offered = json.loads(re.search(r'id="run-models"[^>]*>([^<]*)<', text)[1])  # type: ignore[index]
    assert offered == {str(first.pk): ["Alpha"], str(second.pk): ["Alpha"], str(other.pk): ["Beta"]}
    assert f'<option value="{second.pk}" selected>second · Tiny</option>' in text, "the newest other of these questions"


@pytest.mark.django_db
def test_two_models_of_one_run_lead_to_their_answers_side_by_side(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(models="alpha beta mute"))
    query = f"?first={run.pk}&second={run.pk}&first_model=Alpha&second_model=Mute"
    page(admin, "compare", query=query)
    run_pair_refresh(pair_id=RunPair.objects.get().pk)
    assert f"/evaluations/{run.pk}/questions/1/?models=alpha&amp;models=mute" in page(admin, "compare", query=query)


@pytest.mark.django_db
def test_people_are_held_against_the_judges_of_a_run(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(judges="judge biased", mode="pairwise-all"))
    lines = [
        '{"question_id": 1, "model_a": "Beta", "model_b": "Alpha", "winner": "model_a", "judge": "ann", "turn": 1}',
        '{"question_id": 1, "model_a": "Alpha", "model_b": "Beta", "winner": "tie", "judge": "bob", "turn": 1}',
    ]
    vote_set = votes_import(owner=tiny.owner, name="people", data="\n".join(lines).encode(), run=run)
    found = {row["judge"]: row["with_ties"]["agreed"] for row in vote_set.report["rows"] if not row["by"]}
    assert found == {"Judge": 1, "Biased": 1}
    text = page(admin, "vote_set", vote_set.pk)
    assert "50.0% (1 of 2)" in text
    assert "people" in page(admin, "votes")
    assert "people" in page(admin, "agreement", run.pk)
    assert "<svg" in page(admin, "vote_set_chart", vote_set.pk, "categories", "svg")
    assert "Judge" in page(admin, "agreement_chart", run.pk, "flipped", "csv")
    admin.post(reverse("evaluations:vote_set_delete", args=(vote_set.pk,)))
    assert not VoteSet.objects.exists()


@pytest.mark.django_db
def test_the_answers_of_two_chosen_models_stand_side_by_side(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(models="alpha beta mute"))
    text = page(admin, "question", run.pk, 2, query="?models=alpha&models=mute&turn=1")
    assert 'id="turn-1-alpha"' in text
    assert 'id="turn-1-beta"' not in text
    assert "Turn 2</h2>" not in text
    assert "questions/3/?models=alpha&amp;models=mute&amp;turn=1" in text
    failed = page(admin, "answers", run.pk, query="?failed=on&gap=zero&order=gap")
    assert "3 questions" in failed
    assert "No question is like that" in page(admin, "answers", run.pk, query="?below=0.5")


@pytest.mark.django_db
def test_what_is_read_is_for_owner_and_administrators(client: Client, tiny: Ground) -> None:
    run = done(tiny.run())
    vote_set = VoteSet.objects.create(name="x", owner=tiny.owner, report=votes_report([]))
    client.force_login(factories.user())
    for name, arguments in (("answers", (run.pk,)), ("agreement", (run.pk,)), ("vote_set", (vote_set.pk,))):
        assert client.get(reverse(f"evaluations:{name}", args=arguments)).status_code == 404
    assert "People" not in page(client, "votes")
    assert client.post(reverse("evaluations:votes"), {"name": "y"}).status_code == 403
    assert str(run.pk) not in page(client, "compare", query=f"?first={run.pk}&second={run.pk}")
    client.force_login(tiny.owner)
    page(client, "vote_set", vote_set.pk)


@pytest.mark.django_db
def test_a_reference_is_corrected_in_the_admin_as_a_new_version_with_its_difference(
    admin: Client, tiny: Ground
) -> None:
    reference = ReferenceAnswer.objects.get()
    address = reverse("admin:evaluations_referenceanswer_change", args=(reference.pk,))
    form = {"turn_1": "Forty-three.", "turn_2": "Again forty-two.", "author": "me", "doubt": ""}
    shown = admin.get(address).content.decode()
    assert "Forty-two." in shown
    answer = admin.post(address, {**form, "_preview": "1"})
    assert "<del>two</del><ins>three</ins>" in answer.content.decode()
    assert ReferenceAnswer.objects.count() == 1
    admin.post(address, form)
    corrected = ReferenceAnswer.objects.get(version=2)
    assert (corrected.turns, corrected.author) == (["Forty-three.", "Again forty-two."], "me")
    address = reverse("admin:evaluations_referenceanswer_change", args=(corrected.pk,))
    admin.post(address, {**form, "turn_1": "Two\r\nlines."})
    newest = ReferenceAnswer.objects.get(version=3)
    assert newest.turns[0] == "Two\nlines."
    address = reverse("admin:evaluations_referenceanswer_change", args=(newest.pk,))
    admin.post(address, {**form, "turn_1": "Two\r\nlines.", "doubt": "Is it?"})
    newest.refresh_from_db()
    assert (newest.doubt, ReferenceAnswer.objects.count()) == ("Is it?", 3)
    reference.refresh_from_db()
    assert reference.turns == ["Forty-two.", "Again forty-two."]


def test_a_model_has_one_colour_of_its_own_in_all_charts() -> None:
    names = [f"model {number}" for number in range(6)]
    assert len({colour_of(name) for name in names}) < 6, "some would share a colour"
    scores = [
        Score(name, number, category, 1, 9.0 - place)
        for place, name in enumerate(names)
        for number, category in enumerate(("math", "stem", "writing"))
    ]
    figures = figures_of(scores)
    intervals, profiles, bars = (cast(Any, figures[name]) for name in ("overall", "radar", "spread"))
    colours = [row.paint for row in intervals.rows]
    assert len(set(colours)) == 6
    assert [profile.paint for profile in profiles.profiles] == colours == list(bars.paints)
    drawn = svg_file(profiles)
    assert all(light(paint) in drawn for paint in colours)
