"""Generations of another process, through Redis. Needs no database."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from channels.layers import channel_layers
from django.conf import settings
from django.core.cache import cache
from django.test import override_settings

from common.markdown import render
from providers import live, live_remote
from tests.fakes import scripts
from tests.fakes.upstream import Upstream
from tests.providers.test_live import Screen
from tests.waiting import until

REDIS_URL = "redis://127.0.0.1:6379/15"  # not a test worker's own, which is emptied after each test
OVER_REDIS: dict[str, Any] = {  # as the settings of the other process say where REDIS_URL is set
    "CACHES": {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "tourney",
        }
    },
    "CHANNEL_LAYERS": {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "capacity": 2000, "prefix": "tourney"},
        }
    },
}
OWNED = timedelta(seconds=1)
RENEWED = timedelta(seconds=0.3)


@pytest.fixture(autouse=True)
def _over_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    try:
        redis.Redis.from_url(REDIS_URL).ping()
    except redis.ConnectionError:
        pytest.skip(f"no Redis answers at {REDIS_URL}")
    monkeypatch.setattr(live_remote, "RENEWED", RENEWED)
    with override_settings(**OVER_REDIS):
        channel_layers.backends.clear()
        yield
    channel_layers.backends.clear()


class Owner:
    """Another process, which writes one answer."""

    def __init__(self, upstream: Upstream, model: str) -> None:
        self.id = uuid4()
        arguments = [upstream.url, model, str(self.id)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.providers.owner", *arguments],
            cwd=settings.BASE_DIR,
            env={**os.environ, "REDIS_URL": REDIS_URL, "TOURNEY_VAR": str(settings.VAR / "owner")},
            stdout=subprocess.PIPE,
            text=True,
        )

    async def begun(self) -> None:
        await until(lambda: live.alive([self.id]) == {self.id}, seconds=60)

    def saved(self) -> dict[str, str]:
        """The last record, once the process has ended."""
        out, _ = self.process.communicate(timeout=30)
        last: dict[str, str] = json.loads(out.splitlines()[-1])
        return last

    def stop(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait(10)


@pytest.fixture
def owners() -> Iterator[list[Owner]]:
    owners: list[Owner] = []
    yield owners
    for owner in owners:
        if owner.process.poll() is None:
            owner.stop()


async def test_an_answer_of_another_process_is_seen_whole_and_once(upstream: Upstream, owners: list[Owner]) -> None:
    owners.append(owner := Owner(upstream, "slow-markdown"))
    await owner.begun()
    screens = []
    for _ in range(6):
        screens.append(screen := Screen())
        screen.show(await live.attach(owner.id, screen))
        await asyncio.sleep(0.05)
    await until(lambda: all(screen.ended for screen in screens), seconds=15)
    for screen in screens:
        assert screen.ended is not None
        assert screen.ended.record.text == scripts.STEADY
        assert screen.ended.html == render(scripts.STEADY)
        assert screen.ended.html.startswith(screen.html)
        assert scripts.STEADY.endswith(screen.tail)
        assert screen.ended.record.started_at is not None
    assert owner.saved()["status"] == "finished"
    assert live.alive([owner.id]) == set()
    assert await live.attach(owner.id, Screen()) is None


async def test_whoever_leaves_hears_nothing_more(upstream: Upstream, owners: list[Owner]) -> None:
    owners.append(owner := Owner(upstream, "slow"))
    await owner.begun()
    stays, leaves = Screen(), Screen()
    stays.show(await live.attach(owner.id, stays))
    leaves.show(await live.attach(owner.id, leaves))
    await until(lambda: bool(leaves.updates))
    await live.detach(owner.id, leaves)
    count, so_far = len(leaves.updates), len(stays.updates)
    await until(lambda: len(stays.updates) > so_far + 2)
    assert len(leaves.updates) == count


async def test_a_broken_viewer_harms_nobody(upstream: Upstream, owners: list[Owner]) -> None:
    def broken(update: live.Update) -> None:
        raise RuntimeError("my tab is on fire")

    owners.append(owner := Owner(upstream, "slow-markdown"))
    await owner.begun()
    screen = Screen()
    await live.attach(owner.id, broken)
    screen.show(await live.attach(owner.id, screen))
    await until(lambda: screen.ended is not None, seconds=8)
    assert screen.ended is not None
    assert screen.ended.record.text == scripts.STEADY


async def test_any_process_can_stop_it_and_wait_for_it(upstream: Upstream, owners: list[Owner]) -> None:
    owners.append(owner := Owner(upstream, "slow"))
    await owner.begun()
    screen = Screen()
    screen.show(await live.attach(owner.id, screen))
    await until(lambda: len(screen.updates) > 2)
    assert await live.stop(owner.id) is True
    async with asyncio.timeout(30):
        await live.wait(owner.id)
    await until(lambda: screen.ended is not None)
    assert screen.ended is not None
    assert screen.ended.record.status == "stopped"
    assert scripts.OTHER.startswith(screen.ended.record.text)
    assert owner.saved()["text"] == screen.ended.record.text


async def test_an_owner_that_dies_leaves_an_interrupted_answer(upstream: Upstream, owners: list[Owner]) -> None:
    owners.append(owner := Owner(upstream, "slow"))
    await owner.begun()
    screen = Screen()
    screen.show(await live.attach(owner.id, screen))
    await until(lambda: len(screen.updates) > 2)
    owner.stop(signal.SIGKILL)
    await until(lambda: screen.ended is not None)
    assert screen.ended is not None
    assert screen.ended.record.status == "interrupted"
    assert live.alive([owner.id]) == set()


async def test_an_owner_that_does_not_answer_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_remote, "ANSWERED", timedelta(seconds=0.1))
    id = uuid4()
    await cache.aset(live_remote._name(id), "specific.nobody!here")
    assert await live.attach(id, Screen()) is None
    assert not live_remote._posts.get().watched
    await cache.adelete(live_remote._name(id))


async def test_what_two_processes_write_is_alive_in_both(upstream: Upstream, owners: list[Owner]) -> None:
    owners.extend([Owner(upstream, "slow"), Owner(upstream, "slow")])
    for owner in owners:
        await owner.begun()
    unknown = UUID(int=7)
    assert live.alive([unknown, *(owner.id for owner in owners)]) == {owner.id for owner in owners}
