"""An upstream that speaks every wire on a real socket; tests/fakes/scripts.py says what each model does."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.fakes import wires
from tests.fakes.scripts import SCRIPTS, SECRETS, Call, Failure, Request, Script, Send

__all__ = ["SCRIPTS", "SECRETS", "Request", "Upstream"]


class Upstream:
    """`with Upstream() as upstream:` serves on a port of its own (any free one, or `port`), in a thread of its own.

    `requests` holds every completion that was asked for; `connections` says how many are open at this moment,
    `connected` how many ever were.
    """

    def __init__(self, scripts: dict[str, Script] | None = None, *, port: int = 0) -> None:
        self._port = port
        self.scripts = {**SCRIPTS, **(scripts or {})}
        self.requests: list[Request] = []
        self.connections = self.connected = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="upstream", daemon=True)
        self._is_up = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_up.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def url_of(self, kind: str) -> str:
        """The base address for a wire."""
        return self.url + "beta" if kind == "gemini" else self.url

    def asked(self, model: str) -> list[Request]:
        return [request for request in self.requests if request.model == model]

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._is_up.set()
        await self._stop.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.connected += 1
        try:
            ahead = b""
            while True:
                head = ahead + await reader.readuntil(b"\r\n\r\n")
                ahead = await self._answer(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.connections -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Play one script to its end, or until the client goes away; return what was read of the next request."""
        lines = head.decode().split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        def reset() -> None:
            linger = struct.pack("ii", 1, 0)  # close with RST, as a process does that was killed
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

        if method == "GET":
            await send(self._get(path))
            return b""
        call, script = self._call(path, headers, json.loads(body), send, reset)
        playing = asyncio.create_task(script.play(call))
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({playing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done() and not gone.result():
                raise ConnectionResetError
            await playing
            return gone.result() if gone.done() else b""
        finally:
            playing.cancel()
            gone.cancel()
            await asyncio.gather(playing, gone, return_exceptions=True)

    def _call(
        self, path: str, headers: dict[str, str], body: dict[str, Any], send: Send, reset: Callable[[], None]
    ) -> tuple[Call, Script]:
        """What is to be played, and for whom."""
        try:
            wire, asked = wires.asked(path, headers, body)
        except wires.Refusal as refusal:
            return Call(Request("", [], {}, 0, headers, path), send, reset), Failure(str(refusal), "does not take this")
        request = self._request(asked, headers, path)
        script = self.scripts.get(request.model, Failure("404 Not Found", "has no such model"))
        return wires.call_for(wire, Call(request, send, reset)), script

    def _request(self, body: dict[str, Any], headers: dict[str, str], path: str) -> Request:
        known = ("model", "messages", "stream", "stream_options")
        request = Request(
            model=body["model"],
            messages=body["messages"],
            sampling={name: value for name, value in body.items() if name not in known},
            repeat=sum(
                asked.messages[-1] == body["messages"][-1] for asked in self.requests if asked.model == body["model"]
            ),
            headers=headers,
            path=path,
        )
        self.requests.append(request)
        return request

    def _get(self, path: str) -> bytes:
        path = path.partition("?")[0]
        known: dict[str, Any] = {**wires.model_lists(list(self.scripts)), "/health": {"status": "ok"}}
        status = "200 OK" if path in known else "404 Not Found"
        body = json.dumps(known.get(path, {"error": {"message": "no such page"}})).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body
