"""What people say about answers: votes and reactions. Called through the services."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from battles import selectors
from battles.answering import battle_locked
from battles.ballots import SOURCE, comparisons_of, judged_texts
from battles.errors import AlreadyVoted, ChoiceInvalid, NotVotable, TooLate
from battles.expansion import Ranking, RankingInvalid, ranking_clean
from battles.integrity import exclusion_of
from battles.models import Battle, Preference, Reaction, Response
from battles.prompts import text_clean
from common import metrics
from common.errors import NotFound, TourneyError
from common.vote_reasons import reasons_check
from leaderboard.exclusions import Exclusion
from leaderboard.models import Comparison
from leaderboard.reviewing import review_request
from leaderboard.services import comparisons_exclude, comparisons_record

COMMENT_MAX_CHARACTERS = 2_000
WITHDRAW_WITHIN = timedelta(seconds=15)


@transaction.atomic
def preference_record(
    *,
    battle_id: UUID,
    voter: User,
    choice: str = "",
    ranking: Sequence[str | Sequence[str]] = (),
    reasons: Sequence[str] = (),
    comment: str = "",
) -> Preference:
    """Store a person's vote, reveal the battle, and push what follows for each pair down to the leaderboard.

    `choice` is the label of the best side, `tie` or `both_bad`; or there is a `ranking` of labels, best first, equal
    ones together. Raises NotFound, AlreadyVoted, NotVotable, ChoiceInvalid, ReasonUnknown,
    TourneyError.
    """
    comment = text_clean(comment, limit=COMMENT_MAX_CHARACTERS, what="comment")
    given_reasons = reasons_check(reasons)
    battle = battle_locked(battle_id=battle_id, owner=voter)
    sides = {side.label: side for side in battle.sides.all()}
    if battle.preferences.all():
        raise AlreadyVoted
    if not selectors.is_votable(battle):
        raise NotVotable
    answered = selectors.sides_answered(battle)
    with_answer = [label for label, side in sides.items() if side.pk in answered]
    given = _choice(choice, ranking, labels=list(sides), answered=with_answer)
    now = timezone.now()
    try:
        with transaction.atomic():
            preference = Preference.objects.create(
                battle=battle,
                voter=voter,
                choice=given.choice,
                winner=sides.get(given.winner),
                ranking=given.ranking,
                turns=len(battle.turns.all()),
                decided_ms=_decided_ms(battle, now),
                exclusion=exclusion_of(
                    battle=battle, voter=voter, texts=judged_texts(battle, len(battle.turns.all())), now=now
                ),
                reasons=given_reasons,
                comment=comment,
            )
    except IntegrityError:
        raise AlreadyVoted from None
    if battle.revealed_at is None:
        Battle.objects.filter(pk=battle.pk).update(revealed_at=now)
    comparisons_record(comparisons=comparisons_of(preference, battle))
    transaction.on_commit(review_request)
    counts = "no" if preference.exclusion else "yes"
    transaction.on_commit(lambda: metrics.votes.labels(preference.choice, counts).inc())
    return preference


@dataclass(frozen=True, slots=True)
class _Given:
    choice: str
    winner: str = ""
    ranking: Ranking = ()


def _choice(
    choice: str, ranking: Sequence[str | Sequence[str]], *, labels: Sequence[str], answered: Sequence[str]
) -> _Given:
    """What was chosen, checked. A ranking of two says no more than a winner or a tie, and is kept as such."""
    if ranking:
        try:
            ranks = ranking_clean(ranking, answered=answered, labels=labels)
        except RankingInvalid as error:
            raise ChoiceInvalid(str(error)) from error
        if len(labels) > 2:
            return _Given(Preference.Choice.RANKING, ranking=ranks)
        choice = Preference.Choice.TIE.value if len(ranks) == 1 else ranks[0][0]
    if choice in (Preference.Choice.TIE, Preference.Choice.BOTH_BAD):
        return _Given(choice)
    if choice not in labels:
        raise ChoiceInvalid(f"Unknown choice. Known are: {', '.join(labels)}, tie, both_bad.")
    if choice not in answered:
        raise ChoiceInvalid(f"Side {choice} has no answer, so it cannot be the best.")
    return _Given(Preference.Choice.WINNER, winner=choice)


def _decided_ms(battle: Battle, now: datetime) -> int | None:
    """Milliseconds since the last answer was there."""
    last = list(battle.turns.all())[-1:]
    ends = [response.finished_at for turn in last for response in turn.responses.all() if response.finished_at]
    return max(0, round((now - max(ends)).total_seconds() * 1000)) if ends else None


@transaction.atomic
def preference_withdraw(*, battle_id: UUID, voter: User) -> Preference:
    """Take a vote back within a short time. The models stay known, so there is no second vote.

    Raises NotFound, TooLate.
    """
    battle = battle_locked(battle_id=battle_id, owner=voter)
    preference = next(iter(battle.preferences.all()), None)
    if preference is None:
        raise NotFound("There is no vote to take back.")
    if preference.withdrawn_at is None:
        now = timezone.now()
        if now - preference.created_at > WITHDRAW_WITHIN:
            raise TooLate
        preference.withdrawn_at, preference.exclusion = now, Exclusion.WITHDRAWN
        preference.save(update_fields=["withdrawn_at", "exclusion"])
        rows = Comparison.objects.filter(source_kind=SOURCE, source_id=str(battle.pk))
        comparisons_exclude(comparisons=rows, reason=Exclusion.WITHDRAWN)
    return preference


@transaction.atomic
def reaction_set(*, battle_id: UUID, user: User, response_id: UUID, value: str | None) -> None:
    """Like, dislike or take it back. Raises NotFound, TourneyError."""
    if value is not None and value not in Reaction.Value.values:
        raise TourneyError("A reaction is like, dislike or null.")
    response = Response.objects.filter(
        pk=response_id, turn__battle_id=battle_id, turn__battle__owner=user, turn__battle__deleted_at=None
    ).first()
    if response is None:
        raise NotFound
    if value is None:
        Reaction.objects.filter(response=response, user=user).delete()
    else:
        Reaction.objects.update_or_create(response=response, user=user, defaults={"value": value})
