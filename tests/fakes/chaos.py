"""An upstream whose every answer goes wrong in the way that the model's name says; `good` is the only one that does
not. Runs on a loop of the test's own."""

import asyncio
import json
import random
import socket
import struct

TEXT = "All is well here, and it stays so to the end. " * 6
FAULTS: dict[str, str] = {
    # what happens, and the kind of failure that must be stored; empty for an answer
    "good": "",
    "trickle": "",
    "bad-utf8": "",
    "reset": "connection",
    "cut": "connection",
    "too-short": "connection",
    "stall-before": "timeout",
    "stall-after": "timeout",
    "endless": "timeout",
    "429": "rate_limit",
    "429-retry-after": "rate_limit",
    "500": "upstream",
    "html": "upstream",
    "rubbish": "upstream",
}
# Where nobody is who could answer.
NOBODY = {"refused": "connection", "no-such-name": "connection", "tls": "connection"}


def _chunk(text: str, finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": finish}]}).encode() + b"\n\n"
    )


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
WORDS = [word + " " for word in TEXT.split()]
WHOLE = b"".join(_chunk(word) for word in WORDS) + _chunk("", "stop") + b"data: [DONE]\n\n"


class Chaos:
    """`async with Chaos() as chaos:` serves at `chaos.url`; `open` counts the connections that are open now."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.open = 0

    async def __aenter__(self) -> "Chaos":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while True:
                first = await reader.readexactly(1)
                if first == b"\x16":  # the hello of TLS
                    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                    return
                head = first + await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line
                )
                model = json.loads(await reader.readexactly(length))["model"]
                if not await self._answer(model, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, model: str, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be used again."""
        match model:
            case "good":
                writer.write(HEAD + b"content-length: %d\r\n\r\n%b" % (len(WHOLE), WHOLE))
                return True
            case "trickle":
                writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(WHOLE))
                for start in range(0, len(WHOLE), 97):
                    writer.write(WHOLE[start : start + 97])
                    await asyncio.sleep(0.005)
                return True
            case "bad-utf8":
                body = _chunk("broken: X").replace(b"X", b"\xff\xfe") + _chunk("", "stop")
                writer.write(HEAD + b"content-length: %d\r\n\r\n%b" % (len(body), body))
                return True
            case "reset" | "cut":
                writer.write(HEAD + b"\r\n" + WHOLE[: self._rng.randrange(1, len(WHOLE) // 2)])
                await writer.drain()
                if model == "reset":
                    raw = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case "too-short":
                writer.write(HEAD + b"content-length: %d\r\n\r\n%b" % (len(WHOLE) + 500, WHOLE[:400]))
            case "stall-before":
                await asyncio.sleep(5)
            case "stall-after":
                writer.write(HEAD + b"\r\n" + _chunk("It begins, "))
                await asyncio.sleep(5)
            case "endless":
                writer.write(HEAD + b"\r\n")
                while True:
                    writer.write(_chunk("and on "))
                    await writer.drain()
                    await asyncio.sleep(0.02)
            case "429" | "429-retry-after":
                wait = b"retry-after: 60\r\n" if "after" in model else b""
                writer.write(b"HTTP/1.1 429 No\r\n" + wait + b"content-length: 2\r\n\r\n{}")
                return True
            case "500":
                writer.write(b"HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\n{}")
                return True
            case "html":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>")
                return True
            case "rubbish":
                writer.write(HEAD + b"content-length: 12\r\n\r\ndata: moo!\n\n")
                return True
        return False
