"""What judges said of an experiment's conversations, by judge and rubric."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from conversations.models import Agent
from evaluations.models import TalkJudgment
from evaluations.scoring import Game, Score, games_table, orders, scores_table
from evaluations.selectors import SIDES
from evaluations.talks.subjects import Subject, subject_filter
from evaluations.verdicts import State


def judgments_of(*, owner: User, subject: Subject) -> QuerySet[TalkJudgment]:
    """A person's judgments of a conversation or of an experiment's, in the order of the plan."""
    rows = TalkJudgment.objects.filter(owner=owner, **subject_filter(subject.parameters, "conversation__"))
    return rows.select_related("judge", "conversation__scenario").order_by("conversation__cell", "pk")


def judging_results(*, owner: User, subject: Subject) -> list[dict[str, Any]]:
    """For each judge and rubric: mean scores of each model, whole conversations drawn again for the interval, games won
    by both orders, and judgments without a verdict by state."""
    groups: dict[tuple[str, str], list[TalkJudgment]] = defaultdict(list)
    for row in judgments_of(owner=owner, subject=subject).defer("text", "reasoning"):
        groups[row.judge.name, row.rubric].append(row)
    agents = Agent.objects.filter(model__isnull=False, **subject_filter(subject.parameters, "conversation__"))
    names: dict[UUID, dict[str, str]] = defaultdict(dict)
    for conversation, side, name in agents.values_list("conversation", "side", "model__name"):
        names[conversation][side] = name
    return [_result(judge, rubric, rows, names) for (judge, rubric), rows in sorted(groups.items())]


def _result(judge: str, rubric: str, rows: Sequence[TalkJudgment], names: dict[UUID, dict[str, str]]) -> dict[str, Any]:
    read = [row for row in rows if row.state == State.OK]
    numbers = {row.conversation_id: row.conversation.cell or 0 for row in rows}
    scores = [
        Score(names[row.conversation_id][side], numbers[row.conversation_id], _category(row), 1, score)
        for row in read
        if row.other_id is None
        for side, score in (("a", row.score_a), ("b", row.score_b))
        if score is not None and side in names[row.conversation_id]
    ]
    pairs: dict[tuple[UUID, UUID], dict[int, TalkJudgment]] = defaultdict(dict)
    for row in read:
        if row.other_id is not None:
            pairs[row.conversation_id, row.other_id][row.game] = row
    games = [_game(both, numbers, names) for both in pairs.values() if len(both) == 2]
    states: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.state != State.OK:
            states[row.state] += 1
    consistent = orders(games)
    return {
        "judge": judge,
        "rubric": rubric,
        "scores": [
            {
                "model": line.model,
                "mean": line.overall.mean,
                "lower": line.overall.lower,
                "upper": line.overall.upper,
                "count": line.overall.count,
                "rank": line.rank,
            }
            for line in scores_table(scores)
        ],
        "games": [
            {
                "model": line.model,
                "wins": line.wins,
                "losses": line.losses,
                "ties": line.ties,
                "win_rate": line.win_rate_adjusted,
            }
            for line in games_table(games)
        ],
        "consistent": consistent.consistent / consistent.games if consistent.games else None,
        "without_verdict": dict(states),
    }


def _game(both: dict[int, TalkJudgment], numbers: dict[UUID, int], names: dict[UUID, dict[str, str]]) -> Game:
    first, second = both[1], both[2]
    assert first.other_id is not None
    side = first.side or "a"  # where both differ, each conversation is a model with itself
    one, other = names[first.conversation_id][side], names[first.other_id][side]
    number = numbers[first.conversation_id]
    return Game(one, other, number, _category(first), 1, SIDES[first.winner], SIDES[second.winner])


def _category(row: TalkJudgment) -> str:
    scenario = row.conversation.scenario
    return scenario.category if scenario else ""
