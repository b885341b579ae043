"""Where battles and live generations meet: start what a service asked for, stop it, wait for it."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from battles import services
from battles.models import Battle, Response
from battles.requests import Request
from common.database import in_database_thread
from common.errors import NotFound
from common.logs import bound
from providers import live
from providers.adapters.base import Message, ProviderError, Target
from providers.live import GenerationRecord

logger = logging.getLogger(__name__)


async def _save(response_id: UUID, record: GenerationRecord) -> None:
    await in_database_thread(services.response_save)(response_id=response_id, record=record)


async def _instead(response_id: UUID, error: ProviderError) -> tuple[Target, Sequence[Message]] | None:
    try:
        request = await in_database_thread(services.side_redraw)(response_id=response_id, error=error)
    except Exception:  # the failure of the model is what must be stored, not this one
        logger.exception("Nobody could be drawn instead for response %s", response_id)
        return None
    return None if request is None else (request.target, request.messages)


async def launch(requests: Iterable[Request]) -> None:
    """Start writing each requested response in this process; returns at once."""
    for request in requests:
        with bound(battle=str(request.response.turn.battle_id)):
            live.start(
                request.response.id, request.target, request.messages, _save, instead=_instead, kept=request.kept
            )


def responses_live(battle: Battle, label: str | None = None) -> list[Response]:
    """Those of the last turn that are being written, of one side or of all. Raises NotFound for an unknown label."""
    if label is not None and label not in {side.label for side in battle.sides.all()}:
        raise NotFound("There is no such side.")
    last = list(battle.turns.all())[-1:]
    return [r for turn in last for r in turn.responses.all() if r.is_live and label in (None, r.side.label)]


async def stop(responses: Iterable[Response]) -> None:
    """Stop them where they stand, and return when that is stored."""
    ids = [response.id for response in responses]
    await asyncio.gather(*(live.stop(id_) for id_ in ids))
    await wait(ids)


async def wait(response_ids: Iterable[UUID]) -> None:
    """Until all of them have ended and are stored."""
    await asyncio.gather(*(live.wait(id_) for id_ in response_ids))
