"""Drives conversations: one task for each that is under way, which has turn after turn written until it stands still.

The task belongs to the process that started it and holds no state of its own: what to do next is read from the
database each time. A process that dies leaves a conversation that `conversations_sweep` lets stand still.
"""

import asyncio
import logging
from collections.abc import Iterable
from uuid import UUID

from common.aio import spawn
from common.database import in_database_thread
from common.logs import bound
from conversations import services
from conversations.notices import viewers_tell
from providers import live
from providers.live import GenerationRecord

logger = logging.getLogger(__name__)

_driven: dict[UUID, asyncio.Task[None]] = {}


async def _save(turn_id: UUID, record: GenerationRecord) -> None:
    await in_database_thread(services.turn_save)(turn_id=turn_id, record=record)


async def drive(conversation_id: UUID) -> None:
    """Begin to drive a conversation that a service has just set going; returns at once."""
    with bound(conversation=str(conversation_id)):
        _driven[conversation_id] = spawn(_drive(conversation_id))


async def _drive(conversation_id: UUID) -> None:
    try:
        request = await in_database_thread(services.turn_begin)(conversation_id=conversation_id)
        while request:
            live.start(request.turn.id, request.target, request.messages, _save)
            await viewers_tell(conversation_id)
            await live.wait(request.turn.id)
            request = await in_database_thread(services.turn_next)(conversation_id=conversation_id)
    except Exception:  # a defect, or a lost database: the sweep lets it stand still, and it can go on from there
        logger.exception("Conversation %s could not go on", conversation_id)
    finally:
        if _driven.get(conversation_id) is asyncio.current_task():
            del _driven[conversation_id]
        await viewers_tell(conversation_id)


async def stop(turn_ids: Iterable[UUID]) -> None:
    """Stop these turns where they stand, and return when that is stored."""
    ids = list(turn_ids)
    await asyncio.gather(*(live.stop(id_) for id_ in ids))
    await asyncio.gather(*(live.wait(id_) for id_ in ids))


async def wait(conversation_id: UUID) -> None:
    """Until it stands still, where this process drives it; at once elsewhere."""
    if task := _driven.get(conversation_id):
        await asyncio.gather(task, return_exceptions=True)
