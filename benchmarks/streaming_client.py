"""The readers of the streaming benchmark, in a process of their own: one real WebSocket a battle.

Reads a Plan as JSON from standard input, opens every socket, plays one battle to warm up, says "ready", waits for a
line, plays the others, and prints the Seen of each as JSON.
"""

import asyncio
import sys
import time

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.upstream import LAST, sent_at

PATIENCE_SECONDS = 120.0
PROMPT = '{"type":"prompt","text":"How does a hash table work?"}'


class Plan(msgspec.Struct):
    urls: list[str]
    cookies: list[str]
    origin: str
    spread_seconds: float


class Seen(msgspec.Struct):
    """Of one battle: seconds that the first and the last token of each side were late, or why it was lost."""

    first: list[float] = []
    last: list[float] = []
    problem: str = ""


class Frame(msgspec.Struct):
    type: str
    side: str = ""
    text: str = ""
    html: str = ""
    tail: str = ""
    status: str = ""
    message: str = ""


_decoder = msgspec.json.Decoder(Frame)


class Side:
    """What a reader of one panel has seen of it."""

    def __init__(self) -> None:
        self.first_at = 0.0
        self.last_at = 0.0
        self.blocks = ""
        self.open = ""

    def take(self, frame: Frame) -> tuple[float, float] | None:
        """Lateness of the first and the last token, when the answer is whole. Raises ValueError where it is not."""
        now = time.time()
        if frame.type == "delta":
            self.first_at = self.first_at or now
            self.open += frame.text
        elif frame.type == "block":
            self.first_at = self.first_at or now
            self.blocks += frame.html
            self.open = frame.tail
        if not self.last_at and (frame.type == "finished" or LAST.search(self.open)):
            self.last_at = now
        if frame.type != "finished":
            return None
        if not frame.html.startswith(self.blocks):
            raise ValueError("the blocks that were shown are not those of the whole answer")
        first, last = sent_at(frame.text)
        return (self.first_at or now) - first, self.last_at - last


async def _play(socket: ClientConnection, delay: float) -> Seen:
    await asyncio.sleep(delay)
    seen, sides = Seen(first=[], last=[]), {"a": Side(), "b": Side()}
    try:
        await socket.send(PROMPT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(seen.first) < len(sides):
                frame = _decoder.decode(await socket.recv())
                if frame.type in ("failed", "refused"):
                    raise ValueError(f"{frame.type}: {frame.message}")
                if frame.side and (late := sides[frame.side].take(frame)):
                    seen.first.append(late[0])
                    seen.last.append(late[1])
    except (ValueError, OSError, TimeoutError, WebSocketException) as error:
        seen.problem = f"{type(error).__name__}: {error}"
    return seen


async def _open(url: str, cookie: str, origin: str, doors: asyncio.Semaphore) -> ClientConnection:
    async with doors:
        socket = await connect(
            url,
            origin=origin,  # type: ignore[arg-type]
            additional_headers={"Cookie": cookie},
            compression=None,
            open_timeout=60,
            ping_interval=None,
        )
        await socket.recv()  # the snapshot
        return socket


async def main() -> None:
    plan = msgspec.json.decode(sys.stdin.readline(), type=Plan)
    doors = asyncio.Semaphore(20)
    sockets = await asyncio.gather(
        *(_open(url, cookie, plan.origin, doors) for url, cookie in zip(plan.urls, plan.cookies, strict=True))
    )
    await _play(sockets.pop(), 0)  # the first battle pays for imports and connections, and is not counted
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    step = plan.spread_seconds / max(1, len(sockets))
    seen = await asyncio.gather(*(_play(socket, number * step) for number, socket in enumerate(sockets)))
    print(msgspec.json.encode(seen).decode(), flush=True)
    await asyncio.gather(*(socket.close() for socket in sockets))


if __name__ == "__main__":
    asyncio.run(main())
