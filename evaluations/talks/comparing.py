"""What judges say of two conversations as comparisons of the leaderboard, on boards that ask for conversations."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from accounts.models import User
from conversations.models import Conversation
from evaluations.models import TalkJudgment
from evaluations.talks.subjects import subject_filter
from evaluations.talks.texts import rubric_digest
from evaluations.verdicts import State
from leaderboard.boards import talk_board_create
from leaderboard.models import TALK, Board, Comparison
from leaderboard.services import NewComparison, comparisons_record

CATEGORY_MAX_CHARACTERS = 32


def talks_compare(*, owner: User, parameters: dict[str, Any]) -> int:
    """Push what was said of pairs in both orders down to the leaderboard: a win only where both agree, else a tie. A
    second time changes nothing; returns how many there are."""
    rows = TalkJudgment.objects.filter(
        owner=owner,
        judge=parameters["judge"],
        rubric_digest=rubric_digest(parameters["rubric"]),
        **subject_filter(parameters, "conversation__"),
        other__isnull=False,
        state=State.OK,
    )
    games: dict[tuple[UUID, UUID | None], dict[int, TalkJudgment]] = {}
    for row in rows.select_related("judge", "conversation__scenario").defer("text", "reasoning"):
        games.setdefault((row.conversation_id, row.other_id), {})[row.game] = row
    whole = [both for both in games.values() if len(both) == 2]
    ids = {id_ for key, both in games.items() if len(both) == 2 for id_ in key if id_}
    models = {
        row.pk: {agent.side: agent.model_id for agent in row.agents.all()}
        for row in Conversation.objects.filter(pk__in=ids).prefetch_related("agents")
    }
    new = [_comparison(both[1], both[2], models) for both in whole]
    if new:
        talk_board_create(is_judged=True)
        comparisons_record(comparisons=new)
    return len(new)


def _comparison(first: TalkJudgment, second: TalkJudgment, models: dict[UUID, dict[str, int | None]]) -> NewComparison:
    assert first.other_id is not None
    side = first.side or "a"  # where both differ, each conversation is a model with itself
    model_a, model_b = models[first.conversation_id][side], models[first.other_id][side]
    assert model_a is not None and model_b is not None  # noqa: PT018 # what is compared is in the catalogue
    scenario = first.conversation.scenario
    return NewComparison(
        model_a_id=model_a,
        model_b_id=model_b,
        outcome=first.winner if first.winner == second.winner else Comparison.Outcome.TIE.value,
        source_kind=Board.Source.JUDGES,
        source_id=f"conversation:{first.pk}",
        voter_id=None,
        is_blind=True,
        mode=TALK,
        category=(scenario.category if scenario else "")[:CATEGORY_MAX_CHARACTERS],
        language="",
        judge=first.judge.name,
        created_at=first.finished_at or timezone.now(),
    )
