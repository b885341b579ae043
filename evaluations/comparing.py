"""Pair judgments as comparisons of the leaderboard: one for each pair of answers that was judged in both orders, a tie
where the orders disagree. Boards that take judges as a source count them; that of people's votes does not."""

from collections import defaultdict

from django.utils import timezone

from evaluations.models import Judgment, Run
from evaluations.selectors import judgments_under
from evaluations.verdicts import State
from leaderboard.models import Board, Comparison
from leaderboard.services import NewComparison, comparisons_record

TIE = Comparison.Outcome.TIE.value


def run_compare(*, run: Run) -> int:
    """Push what the run's judges said of pairs; return how many. A second time changes nothing."""
    both: dict[tuple[object, ...], dict[int, Judgment]] = defaultdict(dict)
    rows = judgments_under(run).filter(state=State.OK, model_b__isnull=False).select_related("question", "judge")
    for row in rows.defer("text", "reasoning", "user_prompt"):
        key = (row.question_id, row.judge_id, row.model_a_id, row.model_b_id, row.choice, row.turn, row.repeat)
        both[key][row.game] = row
    new = [_comparison(games[1], games[2]) for games in both.values() if len(games) == 2]
    if new:
        comparisons_record(comparisons=new)
    return len(new)


def _comparison(first: Judgment, second: Judgment) -> NewComparison:
    assert first.model_b_id is not None
    assert first.judge is not None
    return NewComparison(
        model_a_id=first.model_a_id,
        model_b_id=first.model_b_id,
        outcome=first.winner if first.winner == second.winner else TIE,
        source_kind=Board.Source.JUDGES,
        source_id=f"evaluation:{first.pk}",
        voter_id=None,
        is_blind=True,
        category=first.question.category,
        language="",
        judge=first.judge.name,
        created_at=first.finished_at or timezone.now(),
    )
