"""One answer without viewers: asked, waited for, and recorded. For work that nobody watches."""

from collections.abc import Sequence
from contextlib import aclosing

from common import metrics
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
from providers.live_record import Recorder
from providers.live_types import GenerationRecord


async def answer_recorded(
    target: Target, messages: Sequence[Message], *, priority: Priority = Priority.BATCH
) -> GenerationRecord:
    """The record of one whole generation. A failure of the upstream is a record, too, with what came before it."""
    recorder = Recorder(target, messages)
    text: list[str] = []
    reasoning: list[str] = []
    ending = {"status": "failed", "error_kind": ErrorKind.CONNECTION.value}
    metrics.streams_open.inc()
    try:
        async with aclosing(stream_answer(target, messages, priority=priority)) as events:
            async for event in events:
                match event:
                    case TextDelta():
                        recorder.token_came()
                        text.append(event.text)
                    case ReasoningDelta():
                        recorder.token_came()
                        reasoning.append(event.text)
                    case Queued(place=0):
                        recorder.begin()
                    case Opened():
                        recorder.note(event)
                    case Finished():
                        recorder.note(event)
                        ending = {"status": "finished", "finish_reason": event.reason.value}
    except ProviderError as error:
        recorder.note(error)
        ending = {"status": "failed", "error_kind": error.kind.value, "error_message": error.detail}
    finally:
        metrics.streams_open.dec()
    if ending["status"] == "finished" and not "".join(text).strip():
        ending |= {"status": "failed", "error_kind": ErrorKind.UPSTREAM.value}
        ending["error_message"] = "the model ended without any text"
    return recorder.record(ending.pop("status"), "".join(text), "".join(reasoning), **ending)
