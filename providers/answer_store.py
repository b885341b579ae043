"""Answers that may serve an equal request of somebody else, where their endpoint says so (`cache_seconds`).

Equal is: the same model, still asked at the same place and in the same way, with the same messages and sampling. Nobody
gets the same answer twice, nor their own.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from django.utils import timezone

from providers.adapters.base import FinishReason, Message, Target
from providers.kept_answers import KeptAnswer
from providers.live_record import messages_hash, sampling_sent
from providers.live_types import GenerationRecord
from providers.models import CachedAnswer, GeneratedText, LanguageModel

PURGED_AT_ONCE = 100


def answer_keep(*, model_id: int, user_id: int | None, record: GenerationRecord) -> None:
    """Keep a whole answer for others. Nothing where its endpoint keeps none."""
    whole = record.status == GeneratedText.Status.FINISHED and record.finish_reason == FinishReason.STOP
    if not whole or record.is_cached:
        return
    model = LanguageModel.objects.select_related("endpoint").get(pk=model_id)
    if model.endpoint is None or not model.endpoint.cache_seconds:
        return
    now = timezone.now()
    kept = CachedAnswer.objects.create(
        model=model,
        request_hash=_request_hash(model, record.messages_hash, record.sampling),
        text=record.text,
        reasoning=record.reasoning,
        finish_reason=record.finish_reason,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        first_token_ms=record.first_token_ms,
        latency_ms=record.latency_ms,
        expires_at=now + timedelta(seconds=model.endpoint.cache_seconds),
    )
    if user_id is not None:
        kept.served_to.add(user_id)
    expired = CachedAnswer.objects.filter(expires_at__lt=now).values("pk")[:PURGED_AT_ONCE]
    CachedAnswer.objects.filter(pk__in=[row["pk"] for row in expired]).delete()


def answer_kept_for(
    *, model: LanguageModel, target: Target, messages: Sequence[Message], user_id: int
) -> KeptAnswer | None:
    """An answer that this person has not had yet, which counts as theirs from now on; None where there is none."""
    if model.endpoint is None or not model.endpoint.cache_seconds:
        return None
    request_hash = _request_hash(model, messages_hash(target, messages), sampling_sent(target))
    kept = (
        CachedAnswer.objects.filter(model=model, request_hash=request_hash, expires_at__gt=timezone.now())
        .exclude(served_to=user_id)
        .order_by("created_at")
        .first()
    )
    if kept is None:
        return None
    # The row says so once: of two requests of one person at the same time, the other one asks the model.
    _, is_first = CachedAnswer.served_to.through.objects.get_or_create(cachedanswer_id=kept.pk, user_id=user_id)
    if not is_first:
        return None
    return KeptAnswer(
        text=kept.text,
        reasoning=kept.reasoning,
        finish_reason=kept.finish_reason,
        input_tokens=kept.input_tokens,
        output_tokens=kept.output_tokens,
        first_token_ms=kept.first_token_ms,
        latency_ms=kept.latency_ms,
    )


def answers_kept(*, model: LanguageModel, target: Target, messages: Sequence[Message]) -> int:
    """How many answers to this request are in the store."""
    request_hash = _request_hash(model, messages_hash(target, messages), sampling_sent(target))
    return CachedAnswer.objects.filter(model=model, request_hash=request_hash, expires_at__gt=timezone.now()).count()


def _request_hash(model: LanguageModel, messages: str, sampling: dict[str, Any]) -> str:
    endpoint = model.endpoint
    assert endpoint is not None, "an imported model is never asked"
    asked = [endpoint.kind, endpoint.base_url, model.upstream_id, endpoint.quirks | model.quirks, messages, sampling]
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()
