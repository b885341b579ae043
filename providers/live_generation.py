"""One answer while it is being written: a task that owns the stream, and those who look on.

There is no database and no rendering work for a token: pieces are gathered, cut into finished blocks when they are
sent, and saved a few times. What nobody looks at is neither cut nor rendered.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from uuid import UUID

from django.utils.html import escape

from common.aio import spawn
from common.logs import bind
from common.markdown import BlockStream
from common.tracing import span
from providers.adapters.base import (
    ErrorKind,
    Finished,
    Message,
    Opened,
    Priority,
    ProviderError,
    Queued,
    ReasoningDelta,
    Target,
    TextDelta,
)
from providers.client import stream_answer
from providers.kept_answers import KeptAnswer, replay
from providers.live_record import Recorder
from providers.live_types import (
    Block,
    Delta,
    Ended,
    GenerationRecord,
    Instead,
    LiveView,
    Reasoning,
    Save,
    Update,
    Viewer,
    Waiting,
)

logger = logging.getLogger(__name__)

COALESCE_SECONDS = 0.04
# A busy process sends fewer, larger frames: each live generation gets this much of every second's budget.
COALESCE_SECONDS_A_GENERATION = 0.0006
SAVE_SECONDS = 5.0
SAVE_ATTEMPTS = 5  # at the end; the waits between them add up to 17 seconds
SAVE_AGAIN_SECONDS = 0.2


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
        instead: Instead | None = None,
        kept: KeptAnswer | None = None,
        priority: Priority = Priority.INTERACTIVE,
    ) -> None:
        self.id = id
        self.ended = asyncio.Event()
        self._target = target
        self._messages = messages
        self._save = save
        self._budget = budget
        self._on_saved = on_saved
        self._instead = instead
        self._kept = kept
        self._priority = priority
        self._recorder = Recorder(target, messages, is_cached=kept is not None)
        self._place: int | None = None
        self._loop = asyncio.get_running_loop()
        self._viewers: set[Viewer] = set()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._new_text: list[str] = []
        self._new_reasoning: list[str] = []
        self._blocks = BlockStream()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._saved_at = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False
        self._stopped_as = ""

    # --- viewers ---

    def attach(self, viewer: Viewer) -> LiveView:
        """What there is by now; the viewer hears of everything after it."""
        self._flush()
        self._cut()
        self._viewers.add(viewer)
        status = "streaming" if self._has_spoken else "waiting"
        text, reasoning = self.written
        return LiveView(self.id, status, text, self._blocks.html, self._blocks.tail, reasoning, self._place)

    def detach(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)

    @property
    def is_in_line(self) -> bool:
        """Whether it waits for a place, and nobody has been asked yet."""
        return self._place is not None

    @property
    def written(self) -> tuple[str, str]:
        """The text and the reasoning so far."""
        return "".join(self._text), "".join(self._reasoning)

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
        bind(generation=str(self.id))
        with span("generation"):
            await self._run_and_store()

    async def _run_and_store(self) -> None:
        try:
            if self._stopped_as:
                raise asyncio.CancelledError
            finished = await self._answer()
        except ProviderError as error:
            self._recorder.note(error)
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

    @property
    def _has_spoken(self) -> bool:
        return self._recorder.first_token_ms is not None

    async def _answer(self) -> Finished:
        """Ask, and as long as nothing has come, perhaps somebody else."""
        while True:
            try:
                return await self._stream()
            except ProviderError as error:
                other = None
                if self._instead and not self._has_spoken:
                    other = await self._instead(self.id, error)
                if other is None:
                    raise
                self._recorder.left(error)
                self._target, self._messages = other
                self._recorder.ask(self._target, self._messages)

    async def _stream(self) -> Finished:
        source = (
            replay(self._kept) if self._kept else stream_answer(self._target, self._messages, priority=self._priority)
        )
        async with aclosing(source) as events:
            async for event in events:
                match event:
                    case TextDelta():
                        self._text.append(event.text)
                        self._new_text.append(event.text)
                    case ReasoningDelta():
                        self._reasoning.append(event.text)
                        self._new_reasoning.append(event.text)
                    case Queued():
                        if not event.place:
                            self._recorder.begin()
                        self._wait_in_line(event.place or None)
                        continue
                    case Opened():
                        self._recorder.note(event)
                        continue
                    case Finished():
                        return event
                if not self._has_spoken:
                    self._recorder.token_came()
                    self._flush()
                elif self._flush_timer is None:
                    self._flush_timer = self._loop.call_later(self._pause(), self._flush)
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended without an end")

    def _wait_in_line(self, place: int | None) -> None:
        if place != self._place:
            self._place = place
            self._tell(Waiting(self.id, place))

    def _pause(self) -> float:
        """Seconds until what is gathered from now on is to be sent, or at least saved."""
        if not self._viewers:
            return SAVE_SECONDS
        return max(COALESCE_SECONDS, COALESCE_SECONDS_A_GENERATION * self._budget())

    def _cut(self) -> tuple[str, str, str]:
        """The text and the reasoning that have been gathered, and the HTML of the blocks that are finished with it."""
        text, reasoning = "".join(self._new_text), "".join(self._new_reasoning)
        self._new_text.clear()
        self._new_reasoning.clear()
        return text, reasoning, "".join(self._blocks.feed(text)) if text else ""

    def _flush(self) -> None:
        """Send what has been gathered."""
        if self._flush_timer:
            self._flush_timer.cancel()
            self._flush_timer = None
        if self._viewers:
            text, reasoning, html = self._cut()
            if reasoning:
                self._tell(Reasoning(self.id, reasoning))
            if html:
                self._tell(Block(self.id, html, self._blocks.tail))
            elif text:
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
        if self._viewers:
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
        self._recorder.note(finished)
        if not "".join(self._text).strip():
            return self._record(
                "failed", finished.reason.value, ErrorKind.UPSTREAM.value, "the model ended without any text"
            )
        return self._record("finished", finished.reason.value)

    def _record(
        self, status: str, finish_reason: str = "", error_kind: str = "", error_message: str = ""
    ) -> GenerationRecord:
        return self._recorder.record(
            status,
            "".join(self._text),
            "".join(self._reasoning),
            finish_reason=finish_reason,
            error_kind=error_kind,
            error_message=error_message,
        )
