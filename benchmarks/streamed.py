"""What upstreams of the benchmarks share: connections that answer each request with a stream on the OpenAI wire."""

import asyncio
import re

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def framed(data: bytes) -> bytes:
    """One piece of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def end_of(tokens: int) -> bytes:
    """The end of an answer of so many tokens."""
    finish = (
        b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":%d}}\n\n' % tokens
    )
    return framed(finish) + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Streamed(asyncio.Protocol):
    """One connection. Subclasses write what follows the head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if found and len(body) >= (int(length[1]) if length else 0):
            self.received = b""
            self.transport.write(HEAD)
            self.begun = asyncio.get_running_loop().time()
            self.begin()

    def begin(self) -> None:
        raise NotImplementedError


async def serve(protocol: type[Streamed]) -> None:
    """Print a free port of loopback and answer on it."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()
