"""One answer while it is being written: a task that owns the stream, and those who look on.

There is no database and no rendering work for a token: pieces are gathered, cut into finished blocks when they are
sent, and saved a few times.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.utils.html import escape

from common.aio import spawn
from common.markdown import BlockStream
from providers.adapters.base import (
    ErrorKind,
    Finished,
    Message,
    ProviderError,
    ReasoningDelta,
    Target,
    TextDelta,
    Usage,
)
from providers.client import stream_answer
from providers.live_types import Block, Delta, Ended, GenerationRecord, LiveView, Reasoning, Save, Update, Viewer

logger = logging.getLogger(__name__)

COALESCE_SECONDS = 0.04
# A busy process sends fewer, larger frames: each live generation gets this much of every second's budget.
COALESCE_SECONDS_A_GENERATION = 0.0006
SAVE_SECONDS = 5.0
SAVE_ATTEMPTS = 5  # at the end; the waits between them add up to 17 seconds
SAVE_AGAIN_SECONDS = 0.2
TOKENS_A_PRICE = 1_000_000


class LiveGeneration:
    """Runs on the loop that made it. `budget` says how many are live in this process; `on_saved` is called when the
    last record is stored, just before the viewers hear of it."""

    def __init__(
        self,
        id: UUID,
        target: Target,
        messages: Sequence[Message],
        save: Save,
        *,
        budget: Callable[[], int],
        on_saved: Callable[[UUID], None],
    ) -> None:
        self.id = id
        self.ended = asyncio.Event()
        self._target = target
        self._messages = messages
        self._save = save
        self._budget = budget
        self._on_saved = on_saved
        self._loop = asyncio.get_running_loop()
        self._viewers: set[Viewer] = set()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._new_text: list[str] = []
        self._new_reasoning: list[str] = []
        self._blocks = BlockStream()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._saved_at = self._began = time.monotonic()
        self._began_at = datetime.now(UTC)
        self._first_token_ms: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False
        self._stopped_as = ""

    # --- viewers ---

    def attach(self, viewer: Viewer) -> LiveView:
        """What there is by now; the viewer hears of everything after it."""
        self._flush()
        self._viewers.add(viewer)
        status = "waiting" if self._first_token_ms is None else "streaming"
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        return LiveView(self.id, status, text, self._blocks.html, self._blocks.tail, reasoning)

    def detach(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)

    # --- the task ---

    def begin(self) -> None:
        self._task = spawn(self._run())

    def stop(self, status: str = "stopped") -> None:
        """End it with the text so far; `status` is "interrupted" where nobody wanted it to end."""
        self._stopped_as = status
        if self._task and self._has_begun:  # else its first step would be cancelled away, and with it the record
            self._task.cancel()

    async def _run(self) -> None:
        """Never raises: every end is a record."""
        self._has_begun = True
        try:
            if self._stopped_as:
                raise asyncio.CancelledError
            finished = await self._stream()
        except ProviderError as error:
            record = self._record("failed", error_kind=error.kind.value, error_message=error.detail)
        except asyncio.CancelledError:
            record = self._record(self._stopped_as or "interrupted")
        except Exception as error:  # a defect of ours must still end the answer, and be seen
            logger.exception("Generation %s failed", self.id)
            record = self._record("failed", error_kind=ErrorKind.UPSTREAM.value, error_message=repr(error))
        else:
            record = self._finished(finished)
        ending = spawn(self._end(record))
        while not ending.done():  # to be cancelled once more must not lose the answer
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ending)

    async def _stream(self) -> Finished:
        async with aclosing(stream_answer(self._target, self._messages)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    self._text.append(event.text)
                    self._new_text.append(event.text)
                elif isinstance(event, ReasoningDelta):
                    self._reasoning.append(event.text)
                    self._new_reasoning.append(event.text)
                else:
                    return event
                if self._first_token_ms is None:
                    self._first_token_ms = self._elapsed_ms()
                    self._flush()
                elif self._flush_timer is None:
                    wait = max(COALESCE_SECONDS, COALESCE_SECONDS_A_GENERATION * self._budget())
                    self._flush_timer = self._loop.call_later(wait, self._flush)
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended without an end")

    def _flush(self) -> None:
        """Send what has been gathered."""
        if self._flush_timer:
            self._flush_timer.cancel()
            self._flush_timer = None
        if self._new_reasoning:
            self._tell(Reasoning(self.id, "".join(self._new_reasoning)))
            self._new_reasoning.clear()
        if self._new_text:
            text = "".join(self._new_text)
            self._new_text.clear()
            if html := self._blocks.feed(text):
                self._tell(Block(self.id, "".join(html), self._blocks.tail))
            else:
                self._tell(Delta(self.id, text))
        if time.monotonic() - self._saved_at > SAVE_SECONDS and (self._saving is None or self._saving.done()):
            self._saved_at = time.monotonic()
            self._saving = spawn(self._store(self._record("streaming")))

    def _tell(self, update: Update) -> None:
        for viewer in tuple(self._viewers):
            try:
                viewer(update)
            except Exception:  # one broken viewer must not cost the others, nor the answer
                logger.exception("A viewer of generation %s failed", self.id)
                self._viewers.discard(viewer)

    async def _end(self, record: GenerationRecord) -> None:
        try:
            self._flush()
        except Exception:  # a defect in rendering must cost neither the answer nor its end
            logger.exception("The last piece of generation %s could not be rendered", self.id)
        if self._saving:  # never two at once: an older record must not be written over a newer one
            await self._saving
        await self._store(record, SAVE_ATTEMPTS)
        self._on_saved(self.id)
        self._tell(Ended(self.id, self._rendered(record.text), record))
        self._viewers.clear()
        self.ended.set()

    def _rendered(self, text: str) -> str:
        """The whole answer as HTML; as plain text where it cannot be rendered."""
        try:
            return self._blocks.finish() if text else ""
        except Exception:
            logger.exception("Generation %s could not be rendered", self.id)
            return f"<pre>{escape(text)}</pre>"

    async def _store(self, record: GenerationRecord, attempts: int = 1) -> None:
        for attempt in range(1, attempts + 1):
            try:
                await self._save(self.id, record)
                return
            except Exception:  # whatever the database had: the text is still here to be saved
                logger.exception("Saving generation %s failed, attempt %d of %d", self.id, attempt, attempts)
            if attempt < attempts:
                await asyncio.sleep(SAVE_AGAIN_SECONDS * 4 ** (attempt - 1))

    # --- records ---

    def _finished(self, finished: Finished) -> GenerationRecord:
        """An answer without anything to read is a failure: it cannot be judged."""
        usage = finished.usage
        if not "".join(self._text).strip():
            return self._record(
                "failed", usage, finished.reason.value, ErrorKind.UPSTREAM.value, "the model ended without any text"
            )
        return self._record("finished", usage, finished.reason.value)

    def _record(
        self,
        status: str,
        usage: Usage | None = None,
        finish_reason: str = "",
        error_kind: str = "",
        error_message: str = "",
    ) -> GenerationRecord:
        is_over = status != "streaming"
        usage = usage or Usage()
        return GenerationRecord(
            status=status,
            text="".join(self._text).replace("\0", "\ufffd"),  # PostgreSQL cannot hold a NUL
            reasoning="".join(self._reasoning).replace("\0", "\ufffd"),
            finish_reason=finish_reason,
            error_kind=error_kind,
            error_message=error_message.replace("\0", "\ufffd"),
            latency_ms=self._elapsed_ms() if is_over else None,
            first_token_ms=self._first_token_ms,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=self._cost(usage),
            started_at=self._began_at,
            finished_at=datetime.now(UTC) if is_over else None,
        )

    def _cost(self, usage: Usage) -> Decimal | None:
        """US dollars; None where a price or a count is not known."""
        input_price, output_price = self._target.input_price, self._target.output_price
        if input_price is None or output_price is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        total = input_price * usage.input_tokens + output_price * usage.output_tokens
        return Decimal(str(round(total / TOKENS_A_PRICE, 8)))

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._began) * 1000)
