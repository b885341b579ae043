"""What is kept of a generation: when, how much, what it cost, and exactly what was asked."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from django.conf import settings

from common.metrics import failures, generation_observed
from providers.adapters.base import Finished, Message, Opened, ProviderError, Target, Usage
from providers.client import CHARACTERS_A_TOKEN
from providers.live_types import GenerationRecord

TOKENS_A_PRICE = 1_000_000


class Recorder:
    """Gathers figures while a generation runs, and makes records of them."""

    def __init__(self, target: Target, messages: Sequence[Message], *, is_cached: bool = False) -> None:
        self.first_token_ms: int | None = None
        self.usage = Usage()
        self._is_cached = is_cached
        self._request: dict[str, Any] = {}
        self.ask(target, messages)

    def ask(self, target: Target, messages: Sequence[Message]) -> None:
        """This is what is asked from here on; again, where another model is asked instead of one that failed."""
        self.begin()
        self._target = target
        self._asked = len(target.system_prompt) + sum(len(message.content) for message in messages)
        self._request = {
            "messages_hash": messages_hash(target, messages),
            "sampling": sampling_sent(target),
            "adapter": target.kind,
            "code_version": settings.VERSION,
            "is_cached": self._is_cached,
        }

    def begin(self) -> None:
        """Time is counted from here; again, where it has waited for a place: that wait says nothing of the model."""
        self._began = time.monotonic()
        self._began_at = datetime.now(UTC)

    def note(self, event: Opened | Finished | ProviderError) -> None:
        """Keep what the upstream says of itself."""
        if isinstance(event, Finished):
            self.usage = event.usage
            self._request["upstream_model"] = event.upstream_model[:200]
        elif event.request_id:
            self._request["request_id"] = event.request_id[:200]

    def left(self, error: ProviderError) -> None:
        """Who was asked has failed, and somebody else is asked instead."""
        failures.labels(self._target.limits.key, self._target.upstream_id, error.kind.value).inc()

    def token_came(self) -> None:
        if self.first_token_ms is None:
            self.first_token_ms = self._elapsed_ms()

    def record(
        self,
        status: str,
        text: str,
        reasoning: str,
        *,
        finish_reason: str = "",
        error_kind: str = "",
        error_message: str = "",
    ) -> GenerationRecord:
        """What there is by now; with any status but `streaming` it has ended, and is measured."""
        is_over = status != "streaming"
        record = GenerationRecord(
            status=status,
            text=text.replace("\0", "\ufffd"),  # PostgreSQL cannot hold a NUL
            reasoning=reasoning.replace("\0", "\ufffd"),
            finish_reason=finish_reason,
            error_kind=error_kind,
            error_message=error_message.replace("\0", "\ufffd"),
            latency_ms=self._elapsed_ms() if is_over else None,
            first_token_ms=self.first_token_ms,
            input_tokens=self.usage.input_tokens,
            output_tokens=self.usage.output_tokens,
            reasoning_tokens=self.usage.reasoning_tokens,
            cost=self._cost(len(text) + len(reasoning)),
            started_at=self._began_at,
            finished_at=datetime.now(UTC) if is_over else None,
            **self._request,
        )
        if is_over and not self._is_cached:
            self._observe(record)
        return record

    def _observe(self, record: GenerationRecord) -> None:
        generation_observed(
            endpoint=self._target.limits.key,
            model=self._target.upstream_id,
            status=record.status,
            error_kind=record.error_kind,
            latency_ms=record.latency_ms,
            first_token_ms=record.first_token_ms,
            input_tokens=record.input_tokens,
            output_tokens=record.output_tokens,
            dollars=float(record.cost or 0),
        )

    def _cost(self, written: int) -> Decimal | None:
        """US dollars; None where a price is not known or nothing came, 0 where nobody was asked.

        Reasoning is part of the output tokens. An upstream that was cut off sends no count but wants its money, so
        then it is reckoned from the characters asked and `written`: else to stop every answer would cost nothing.
        """
        if self._is_cached:
            return Decimal(0)
        target, usage = self._target, self.usage
        if target.input_price is None or target.output_price is None:
            return None
        if usage.input_tokens is not None and usage.output_tokens is not None:
            asked_tokens, written_tokens = float(usage.input_tokens), float(usage.output_tokens)
        elif self.first_token_ms is None:
            return None
        else:
            asked_tokens, written_tokens = self._asked / CHARACTERS_A_TOKEN, written / CHARACTERS_A_TOKEN
        total = target.input_price * asked_tokens + target.output_price * written_tokens
        return Decimal(str(round(total / TOKENS_A_PRICE, 8)))

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._began) * 1000)


def messages_hash(target: Target, messages: Sequence[Message]) -> str:
    """SHA-256 in hexadecimal over what was sent, the model's own system prompt and the pictures included."""
    system = [Message("system", target.system_prompt)] if target.system_prompt else []
    sent = [
        [message.role, message.content, [hashlib.sha256(image.data).hexdigest() for image in message.images]]
        for message in [*system, *messages]
    ]
    return hashlib.sha256(msgspec.json.encode(sent)).hexdigest()


def sampling_sent(target: Target) -> dict[str, Any]:
    """What was said about sampling; what was left to the upstream, or the model refuses, is left out."""
    values = asdict(target.sampling)
    return {
        name: value
        for name, value in values.items()
        if value not in (None, ()) and name not in target.quirks.unsupported
    }
