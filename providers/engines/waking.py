"""Waits for an engine of ours that sleeps, and has it woken."""

import asyncio
from collections.abc import AsyncGenerator

from django.conf import settings

from common.database import in_database_thread
from providers.adapters.base import ErrorKind, ProviderError
from providers.engines.services import engine_wake
from providers.engines.states import SLEEPY, State

LOOK_SECONDS = 0.5


class NotAwake(ProviderError):
    """It did not wake in time. Whoever asks again at once would wait as long once more."""


async def until_awake(endpoint_slug: str) -> AsyncGenerator[State, None]:
    """Yield once, how the engine is, where it must be waited for, and end when it is ready; yield nothing where it is
    already, or where no engine of ours is behind the endpoint.

    Raises ProviderError where it cannot answer, and NotAwake where it did not wake in time.
    """
    if not endpoint_slug:
        return
    wake = in_database_thread(engine_wake)
    until = asyncio.get_running_loop().time() + settings.ENGINE_WAIT_SECONDS
    is_told = False
    while True:
        state, reason = await wake(endpoint_slug=endpoint_slug)
        if state in (None, State.READY):
            return
        if state not in SLEEPY and state is not State.STARTING:
            raise ProviderError(ErrorKind.CONNECTION, f"the engine is {state}: {reason}")
        if asyncio.get_running_loop().time() > until:
            seconds = settings.ENGINE_WAIT_SECONDS
            raise NotAwake(ErrorKind.TIMEOUT, f"the engine did not wake within {seconds:g} s; it is {state}")
        if not is_told:
            is_told = True
            yield state
        await asyncio.sleep(LOOK_SECONDS)
