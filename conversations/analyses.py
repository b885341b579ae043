"""A model reads a conversation: asked, stored and understood. Called through the services."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from common.clock import has_lapsed
from common.errors import NotFound
from common.limits import hit
from common.text import text_problem
from conversations import selectors
from conversations.analysis_texts import (
    CUT_OFF,
    NOTHING_FOUND,
    PROMPT_VERSION,
    SYSTEM,
    result_read,
    schema_body,
    transcript,
)
from conversations.errors import ConversationInvalid, NoAnalyst, NothingToRead, NothingToRetry, StillSpeaking
from conversations.models import Analysis, Conversation, Turn
from conversations.turns import ORPHAN_AFTER
from providers import live
from providers.adapters.base import FinishReason, Message, Target
from providers.client import CHARACTERS_A_TOKEN
from providers.live import GenerationRecord
from providers.models import LanguageModel
from providers.selectors import target_for
from providers.services import budget_check, generation_note

RUBRIC_MAX_CHARACTERS = 4_000
ANSWER_TOKENS = 1_500
# Of a small window this part is for the transcript; the rest is for the question and the answer.
TRANSCRIPT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """An analysis that is to be written; `plain` is whom to ask where the endpoint refuses the schema."""

    analysis: Analysis
    target: Target
    plain: Target
    messages: tuple[Message, ...]


@transaction.atomic
def analysis_begin(*, conversation_id: UUID, owner: User, model: str = "", rubric: str = "") -> AnalysisRequest:
    """Store an analysis as waiting. `model` is a slug; without it the strongest that answers reads.

    Raises NotFound, NothingToRead, NoAnalyst, ConversationInvalid, BudgetSpent, TooMany.
    """
    hit(f"analyses:{owner.pk}", limit=settings.CONVERSATIONS_PER_HOUR, seconds=3600)
    conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=owner)
    rubric = rubric.strip()
    if problem := text_problem(rubric, limit=RUBRIC_MAX_CHARACTERS, what="rubric"):
        raise ConversationInvalid(problem)
    turns = [turn for turn in conversation.turns.all() if turn.is_answer]
    if not any(turn.number for turn in turns):
        raise NothingToRead
    analyst = _analyst(model)
    budget_check(user_id=owner.pk, contenders=[analyst])
    analysis = Analysis.objects.create(
        conversation=conversation,
        model=analyst,
        model_slug=analyst.slug,
        prompt_version=PROMPT_VERSION,
        rubric=rubric,
        turns=sum(turn.number is not None for turn in turns),
        started_at=timezone.now(),
    )
    return _request(conversation, analysis, analyst, turns)


@transaction.atomic
def analysis_retry(*, conversation_id: UUID, owner: User, analysis_id: UUID) -> AnalysisRequest:
    """Have an analysis that came to nothing once more, by the same model on the same rubric, of what is said by now.

    Raises NotFound, StillSpeaking, NothingToRetry, ConversationInvalid, BudgetSpent.
    """
    conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=owner)
    analysis = Analysis.objects.select_for_update().filter(conversation=conversation, pk=analysis_id).first()
    if analysis is None:
        raise NotFound
    if analysis.is_live:
        raise StillSpeaking("This analysis is being written.")
    if analysis.result:
        raise NothingToRetry("This analysis has come to its end. Ask for another one.")
    analyst = _analyst(analysis.model_slug)
    budget_check(user_id=owner.pk, contenders=[analyst])
    turns = [turn for turn in conversation.turns.all() if turn.is_answer]
    blank = Analysis()
    for record in fields(GenerationRecord):
        setattr(analysis, record.name, getattr(blank, record.name))
    analysis.status, analysis.started_at = Analysis.Status.WAITING, timezone.now()
    analysis.model, analysis.prompt_version, analysis.problem = analyst, PROMPT_VERSION, ""
    analysis.turns = sum(turn.number is not None for turn in turns)
    analysis.save()
    return _request(conversation, analysis, analyst, turns)


@transaction.atomic
def analysis_save(*, analysis_id: UUID, record: GenerationRecord) -> None:
    """Store how far an analysis is, or how it ended, and what is understood of it."""
    values = asdict(record)
    if record.status in (Analysis.Status.FINISHED, Analysis.Status.STOPPED):
        result = result_read(record.text)
        cut_off = CUT_OFF if record.finish_reason == FinishReason.LENGTH else ""
        values |= {"result": result, "problem": cut_off if result else NOTHING_FOUND}
    Analysis.objects.filter(pk=analysis_id).update(**values)
    if record.status in Analysis.LIVE:
        return
    asked = Analysis.objects.filter(pk=analysis_id).values_list("model_id", "conversation__owner_id").first()
    if asked and asked[0]:
        generation_note(model_id=asked[0], user_id=asked[1], record=record)


@transaction.atomic
def analyses_sweep(*, analyses: Iterable[Analysis] | None = None, before: datetime | None = None) -> int:
    """Mark analyses that nobody writes any more as interrupted; return how many. Without `analyses`: all. Those begun
    after `before` are spared, by default a moment ago."""
    if analyses is None:
        analyses = Analysis.objects.filter(status__in=Analysis.LIVE)
    before = before or timezone.now() - ORPHAN_AFTER
    ids = {one.id for one in analyses if one.is_live and (one.started_at is None or has_lapsed(one.started_at, before))}
    orphans = ids - live.alive(ids)
    return Analysis.objects.filter(pk__in=orphans, status__in=Analysis.LIVE).update(
        status=Analysis.Status.INTERRUPTED, finished_at=timezone.now()
    )


def _request(
    conversation: Conversation, analysis: Analysis, analyst: LanguageModel, turns: Sequence[Turn]
) -> AnalysisRequest:
    """Whom to ask what."""
    target = target_for(analyst)
    window = target.context_window
    characters = int(window * CHARACTERS_A_TOKEN * TRANSCRIPT_SHARE) if window else None
    question = transcript(
        _lines(conversation, turns), seed_prompt=conversation.seed_prompt, rubric=analysis.rubric, characters=characters
    )
    messages = (Message("system", SYSTEM[PROMPT_VERSION]), Message("user", question))
    most = min(ANSWER_TOKENS, window // 4) if window else ANSWER_TOKENS
    # The model's own system prompt is left out: as an analyst it plays no part.
    plain = replace(target, system_prompt="", sampling=replace(target.sampling, temperature=0.0, max_tokens=most))
    held = msgspec.structs.replace(plain.quirks, extra_body=schema_body(plain.kind, plain.quirks.extra_body))
    return AnalysisRequest(analysis, replace(plain, quirks=held), plain, messages)


def _analyst(slug: str) -> LanguageModel:
    if not slug:
        model = selectors.analyst_default()
        if model is None:
            raise NoAnalyst
        return model
    model = LanguageModel.objects.active().select_related("endpoint").filter(slug=slug).first()
    if model is None:
        raise ConversationInvalid(f"There is no model “{slug}” that can be asked. Choose one of the catalogue.")
    return model


def _lines(conversation: Conversation, turns: Iterable[Turn]) -> list[tuple[str, str]]:
    names = {agent.side: agent.shown_name for agent in conversation.agents.all()}
    return [
        ("moderator", turn.text)
        if turn.number is None
        else (f"turn {turn.number}, agent {turn.speaker.upper()} ({names[turn.speaker]})", turn.text)
        for turn in turns
    ]
