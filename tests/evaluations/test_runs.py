"""A run does all that is missing and nothing twice, whatever ended it before."""

from collections import Counter
from dataclasses import dataclass

import pytest

from accounts import jobs
from accounts.jobs import JobCancelled
from evaluations.engine import Counts
from evaluations.errors import EvaluationInvalid, RunBusy, RunExists
from evaluations.estimating import estimate
from evaluations.models import Run
from evaluations.planning import plan_of
from evaluations.scoring import games_table, orders, scores_table
from evaluations.selectors import cost_of, figures_of, games_of, scores_of, states_of
from evaluations.services import run_cancel, run_clear_failed, run_do, run_extend, run_start
from leaderboard.models import Comparison
from providers.errors import BudgetSpent
from providers.models import LanguageModel
from providers.services import presets_seed
from tests.evaluations.scripted import Always, Grades, Ground, Says
from tests.fakes.scripts import Answer, Call, Failure

pytestmark = pytest.mark.django_db


def do(run: Run) -> Counts:
    counts = run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return counts


def test_every_answer_is_graded_once_and_asked_for_once(tiny: Ground) -> None:
    run = tiny.run()
    counts = do(run)
    assert (counts.answers, counts.judgments, counts.failed, counts.unread) == (12, 12, 0, 0)
    assert run.status == Run.Status.DONE
    lines = {line.model: line for line in scores_table(scores_of(run))}
    assert [lines["Alpha"].turns[turn].mean for turn in (1, 2)] == [1, 2]
    assert cost_of(run) == pytest.approx(counts.cost)
    asked = len(tiny.upstream.requests)
    do(run)
    assert len(tiny.upstream.requests) == asked == 24


def test_the_second_turn_has_the_history_and_the_category_its_temperature(tiny: Ground) -> None:
    do(tiny.run(models="alpha", options={"seed": 5}))
    asked = tiny.upstream.asked("alpha")
    assert {request.sampling["temperature"] for request in asked} == {0.0, 0.7}
    assert {request.sampling["seed"] for request in asked} == {5}
    second = next(request for request in asked if len(request.messages) == 3)
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1]["content"] == "alpha 1"


def test_a_reference_goes_to_the_judge_where_there_is_one(tiny: Ground) -> None:
    do(tiny.run(models="alpha"))
    prompts = [str(request.messages[-1]["content"]) for request in tiny.upstream.asked("judge")]
    assert sum("Forty-two." in prompt for prompt in prompts) == 2
    assert sum("Again forty-two." in prompt for prompt in prompts) == 1


def test_pairs_are_judged_in_both_orders(tiny: Ground) -> None:
    run = tiny.run(judges="judge biased", mode="pairwise-all")
    assert do(run).judgments == 24
    fair, biased = (orders(games_of(run, judge_id=tiny.model(name).pk)) for name in ("judge", "biased"))
    assert (fair.consistent, fair.flipped) == (6, 0)
    assert (biased.flipped, biased.first_share) == (6, 1.0)
    best = games_table(games_of(run, judge_id=tiny.model("judge").pk))[0]
    assert (best.model, best.wins) == ("Beta", 6)


def test_the_leaderboard_hears_of_each_pair_once_and_flips_are_ties(tiny: Ground) -> None:
    run = tiny.run(judges="judge biased", mode="pairwise-all")
    do(run)
    do(run)
    rows = Comparison.objects.filter(source_kind="judge")
    assert Counter(rows.values_list("judge", "outcome")) == {("Judge", "b"): 6, ("Biased", "tie"): 6}


def test_a_baseline_meets_every_other_and_nobody_else(tiny: Ground) -> None:
    run = tiny.run(models="alpha mute", mode="pairwise-baseline", baseline=tiny.model("beta"))
    do(run)
    assert {(game.model_1, game.model_2) for game in games_of(run)} == {("Alpha", "Beta"), ("Mute", "Beta")}


def test_a_model_without_words_is_not_judged_on_that_turn(tiny: Ground) -> None:
    run = tiny.run(models="mute")
    counts = do(run)
    assert (counts.answers, counts.failed, counts.judgments, counts.skipped) == (6, 3, 3, 3)
    assert counts.done == counts.total


@pytest.mark.parametrize(
    ("judge", "state", "asked"), [("forgetful", "ok", 12), ("vague", "parse", 12), ("lenient", "out_of_range", 6)]
)
def test_a_judge_without_a_verdict_is_reminded_once(tiny: Ground, judge: str, state: str, asked: int) -> None:
    run = tiny.run(models="alpha", judges=judge)
    do(run)
    assert states_of(run) == {state: 6}
    assert len(tiny.upstream.asked(judge)) == asked


def test_failures_have_a_state_and_can_be_tried_again(tiny: Ground) -> None:
    works = tiny.upstream.scripts["judge"]
    tiny.upstream.scripts["judge"] = Failure("400 Bad Request")
    run = tiny.run(models="alpha")
    assert do(run).unread == 6
    assert states_of(run) == {"upstream": 6}
    tiny.upstream.scripts["judge"] = works
    assert do(run).unread == 0
    assert states_of(run) == {"upstream": 6}
    assert run_clear_failed(run=run) == 6
    do(run)
    assert states_of(run) == {"ok": 6}
    assert len(tiny.upstream.asked("alpha")) == 6


def test_what_is_added_to_a_finished_run_is_all_that_is_asked(tiny: Ground) -> None:
    run = tiny.run(models="alpha")
    do(run)
    run_extend(run=run, models=[tiny.model("beta")], judges=[tiny.model("forgetful")])
    counts = do(run)
    assert (counts.answers, counts.judgments) == (12, 24)
    assert len(tiny.upstream.asked("alpha")) == 6
    assert len(tiny.upstream.asked("judge")) == 12


def test_an_equal_judgment_is_not_asked_for_again(tiny: Ground) -> None:
    do(tiny.run("first", models="alpha"))
    second = tiny.run("second", models="alpha")
    do(second)
    assert len(tiny.upstream.asked("judge")) == 6
    assert not second.judgments.filter(is_cached=False).exists()
    assert len(scores_of(second)) == 6


def test_repeats_are_asked_each(tiny: Ground) -> None:
    run = tiny.run(models="alpha", options={"repeats": 3, "max_questions": 2})
    assert do(run).judgments == 12


def test_a_cancelled_run_keeps_what_it_has_and_can_be_resumed(tiny: Ground) -> None:
    run = tiny.run()

    def stop(counts: Counts) -> None:
        raise JobCancelled

    with pytest.raises(JobCancelled):
        run_do(run_id=run.pk, tell=stop)
    run.refresh_from_db()
    assert run.status == Run.Status.CANCELLED
    assert do(run).done == 24
    assert run.answers.count() == 12


def test_a_worker_does_the_run_and_its_job_says_so(tiny: Ground) -> None:
    run = run_start(run=tiny.run())
    with pytest.raises(RunBusy):
        run_start(run=run)
    with pytest.raises(RunBusy):
        run_clear_failed(run=run)
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    run.refresh_from_db()
    assert run.status == Run.Status.DONE
    assert run_cancel(run=run).status == Run.Status.DONE


def test_a_run_that_has_not_begun_can_be_cancelled(tiny: Ground) -> None:
    run = run_cancel(run=run_start(run=tiny.run()))
    assert run.status == Run.Status.CANCELLED
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    assert not run.answers.exists()


def test_the_estimate_counts_what_is_missing(tiny: Ground) -> None:
    run = tiny.run()
    before = estimate(plan_of(run))
    assert (before.answers, before.judgments) == (12, 12)
    assert before.cost is not None
    assert before.cost > 0
    do(run)
    after = estimate(plan_of(run))
    assert (after.answers, after.judgments, after.cost) == (0, 0, 0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": "best"}, "mode must be"),
        ({"mode": "pairwise-baseline"}, "Name a baseline"),
        ({"mode": "pairwise-all", "models": "alpha"}, "needs two models"),
        ({"options": {"repeats": 0}}, "options are not right"),
        ({"options": {"tempo": 1}}, "options are not right"),
        ({"options": {"prompts": "nobodys"}}, "no judge prompts called nobodys"),
    ],
)
def test_a_run_that_cannot_be_is_refused(tiny: Ground, fields: dict[str, str], message: str) -> None:
    with pytest.raises(EvaluationInvalid, match=message):
        tiny.run(**fields)
    assert not Run.objects.exists()


def test_a_name_is_given_once(tiny: Ground) -> None:
    tiny.run()
    with pytest.raises(RunExists):
        tiny.run()


def test_answers_that_decline_are_counted_by_model(tiny: Ground) -> None:
    tiny.upstream.scripts["shy"] = Always("I'm sorry, but I can't help with that.")
    run = tiny.run(models="alpha shy")
    do(run)
    figures = figures_of(run)
    assert (figures["Shy"]["refusals"], figures["Shy"]["refusal_share"]) == (6, 1.0)
    assert figures["Alpha"]["refusals"] == 0


@dataclass
class FailsEverySecondTime:
    """A judge that answers 400 to every other request."""

    calls: int = 0

    async def play(self, call: Call) -> None:
        self.calls += 1
        await (Grades() if self.calls % 2 else Failure("400 Bad Request")).play(call)


def test_a_judge_that_fails_half_of_the_time_leaves_gaps_that_can_be_filled(tiny: Ground) -> None:
    tiny.upstream.scripts["moody"] = FailsEverySecondTime()
    run = tiny.run(judges="moody")
    counts = do(run)
    assert (counts.judgments, counts.unread) == (12, 6)
    assert states_of(run) == {"ok": 6, "upstream": 6}
    assert len(scores_of(run)) == 6
    for _ in range(4):  # each leaves half of what was missing
        run_clear_failed(run=run)
        do(run)
    assert states_of(run) == {"ok": 12}
    assert len(tiny.upstream.asked("alpha")) == 6


@dataclass
class CutOff:
    """A judge whose words end at its limit of tokens."""

    text: str

    async def play(self, call: Call) -> None:
        await Answer(self.text, seconds_a_token=0, reason="length").play(call)


@pytest.mark.parametrize(("text", "state"), [("Rating: 1", "parse"), ("Rating: [[1]] since", "ok")])
def test_a_verdict_that_may_be_cut_off_is_none(tiny: Ground, text: str, state: str) -> None:
    tiny.upstream.scripts["cut"] = CutOff(text)
    run = tiny.run(models="alpha", judges="cut", options={"max_questions": 1})
    do(run)
    assert states_of(run) == {state: 2}


def test_a_budget_that_is_spent_meanwhile_ends_the_run_and_keeps_what_was_paid_for(tiny: Ground) -> None:
    tiny.upstream.scripts["slow"] = Says("slow", seconds=0.7)
    model = tiny.model("slow")
    model.output_price = 500_000
    model.save()
    tiny.owner.monthly_budget = 3
    tiny.owner.save()
    run = tiny.run(models="slow")
    with pytest.raises(BudgetSpent):
        do(run)
    run.refresh_from_db()
    assert run.status == Run.Status.FAILED
    assert "budget" in run.error
    assert 0 < run.answers.count() < 6
    with pytest.raises(BudgetSpent):
        do(run)
    tiny.owner.monthly_budget = None
    tiny.owner.save()
    assert do(run).done == 12


@pytest.mark.parametrize("upstream_id", ["gpt-5-mini", "o4-mini", "gpt-4.1-nano", "gpt-4-turbo-2024-04-09"])
def test_judges_of_each_family_are_asked_as_they_take_it(tiny: Ground, upstream_id: str) -> None:
    """By the rows of the catalogue as they are seeded, moved to the fake upstream."""
    presets_seed()
    judge = LanguageModel.objects.get(upstream_id=upstream_id, endpoint__slug="openai")
    is_reasoning = judge.is_reasoning
    judge.endpoint = tiny.endpoint
    judge.save()
    tiny.models[upstream_id] = judge
    tiny.upstream.scripts[upstream_id] = Grades()
    run = tiny.run(models="alpha", judges=upstream_id, options={"max_questions": 1})
    do(run)
    asked = tiny.upstream.asked(upstream_id)[0]
    assert ("temperature" in asked.sampling) is not is_reasoning
    assert ("max_completion_tokens" in asked.sampling) is is_reasoning
    assert asked.sampling.get("max_completion_tokens", asked.sampling.get("max_tokens")) == 2048 * (
        8 if is_reasoning else 1
    )
    assert states_of(run) == {"ok": 2}
