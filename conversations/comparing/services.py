"""Writes of comparing: a pair is drawn, voted on, and the vote taken back for a moment."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils import timezone

from accounts.models import User
from common.errors import NotFound, TourneyError
from common.reading import Pace, is_too_fast
from common.text import text_problem
from common.vote_reasons import reasons_check
from conversations.comparing import selectors
from conversations.errors import AlreadyVoted, ConversationInvalid, NothingToCompare, TooLate
from conversations.models import ConversationPair
from leaderboard.boards import talk_board_create
from leaderboard.exclusions import Exclusion
from leaderboard.models import TALK, Board, Comparison
from leaderboard.services import NewComparison, comparisons_exclude, comparisons_record

SOURCE = Board.Source.TALKS.value
COMMENT_MAX_CHARACTERS = 2_000
WITHDRAW_WITHIN = timedelta(seconds=15)
CATEGORY_MAX_CHARACTERS = 32


def pair_draw(*, voter: User) -> ConversationPair:
    """The pair that waits for this person's vote, or a new one. Raises NothingToCompare."""
    waiting = selectors.pair_open(voter)
    if waiting:
        try:
            return selectors.pair_whole(pair_id=waiting.pk, viewer=voter)
        except NotFound:
            # One of the two is out of sight, and nothing was said of them, also not in another tab just now.
            ConversationPair.objects.filter(pk=waiting.pk, decided_at=None).delete()
    draw = selectors.pair_next(voter)
    if draw is None:
        raise NothingToCompare
    one, other, differs = draw.one, draw.other, draw.differs
    try:
        with transaction.atomic():
            return ConversationPair.objects.create(
                voter=voter,
                conversation_a_id=one.id,
                conversation_b_id=other.id,
                key=selectors.pair_key(one.id, other.id),
                model_a_id=differs.model_a,
                model_b_id=differs.model_b,
                side=differs.side,
                is_blind=draw.is_blind,
            )
    except IntegrityError:  # another tab has drawn in this moment
        drawn = selectors.pair_open(voter)
        if drawn is None:
            raise NothingToCompare from None
        return drawn


@transaction.atomic
def pair_vote(
    *, pair_id: UUID, voter: User, choice: str, reasons: Sequence[str] = (), comment: str = ""
) -> ConversationPair:
    """Store what a person says of a pair, and push it down to the leaderboard; from then on the models are named.

    `choice` is `a`, `b`, `tie` or `both_bad`. Raises NotFound, AlreadyVoted, ReasonUnknown, ConversationInvalid,
    TourneyError.
    """
    given_reasons = reasons_check(reasons)
    if problem := text_problem(comment.strip(), limit=COMMENT_MAX_CHARACTERS, what="comment"):
        raise ConversationInvalid(problem)
    if choice not in ConversationPair.Choice.values:
        raise TourneyError(f"Unknown choice. Known are: {', '.join(ConversationPair.Choice.values)}.")
    if not ConversationPair.objects.select_for_update().filter(pk=pair_id, voter=voter).exists():
        raise NotFound
    pair = selectors.pair_whole(pair_id=pair_id, viewer=voter)
    if pair.decided_at is not None:
        raise AlreadyVoted
    now = timezone.now()
    exclusion = _exclusion(pair, voter, now)
    # Whether it is blind is known only now: a page with names may have been opened beside it.
    both = (pair.conversation_a, pair.conversation_b)
    pair.is_blind = pair.is_blind and not any(selectors.names_known(one, voter) for one in both)
    pair.choice, pair.reasons, pair.comment, pair.decided_at = choice, given_reasons, comment.strip(), now
    pair.save(update_fields=["is_blind", "choice", "reasons", "comment", "decided_at"])
    scenario = pair.conversation_a.scenario
    talk_board_create(is_judged=False)
    comparisons_record(
        comparisons=[
            NewComparison(
                model_a_id=pair.model_a_id,
                model_b_id=pair.model_b_id,
                outcome=choice,
                source_kind=SOURCE,
                source_id=str(pair.pk),
                voter_id=voter.pk,
                mode=TALK,
                is_blind=pair.is_blind,
                category=(scenario.category if scenario else "")[:CATEGORY_MAX_CHARACTERS],
                language="",
                exclusion=exclusion,
                created_at=now,
            )
        ]
    )
    return pair


def _exclusion(pair: ConversationPair, voter: User, now: datetime) -> str:
    """Why the vote does not count, by the same rules as a vote on answers; empty if it does. The voter is not told."""
    texts = ["\n".join(turn.text for turn in one.turns.all()) for one in (pair.conversation_a, pair.conversation_b)]
    pace = Pace(timedelta(seconds=settings.VOTE_LEAST_SECONDS), settings.VOTE_WORDS_PER_MINUTE)
    if is_too_fast(texts=texts, visible_at=pair.created_at, ended_at=pair.created_at, voted_at=now, pace=pace):
        return Exclusion.TOO_FAST
    limits = {"minute": settings.VOTES_PER_MINUTE, "hour": settings.VOTES_PER_HOUR}
    earlier = ConversationPair.objects.filter(voter=voter, decided_at__gt=now - timedelta(hours=1))
    given = earlier.aggregate(hour=Count("pk"), minute=Count("pk", filter=Q(decided_at__gt=now - timedelta(minutes=1))))
    if any(limit and given[span] >= limit for span, limit in limits.items()):
        return Exclusion.RATE
    return Exclusion.FLAGGED if User.objects.filter(pk=voter.pk).exclude(flagged_at=None).exists() else ""


@transaction.atomic
def pair_withdraw(*, pair_id: UUID, voter: User) -> ConversationPair:
    """Take a vote back within a short time. The models stay known, so there is no second vote.

    Raises NotFound, TooLate.
    """
    pair = ConversationPair.objects.select_for_update().filter(pk=pair_id, voter=voter).first()
    if pair is None or pair.decided_at is None:
        raise NotFound("There is no vote to take back.")
    if pair.withdrawn_at is None:
        now = timezone.now()
        if now - pair.decided_at > WITHDRAW_WITHIN:
            raise TooLate
        pair.withdrawn_at = now
        pair.save(update_fields=["withdrawn_at"])
        rows = Comparison.objects.filter(source_kind=SOURCE, source_id=str(pair.pk))
        comparisons_exclude(comparisons=rows, reason=Exclusion.WITHDRAWN)
    return pair
