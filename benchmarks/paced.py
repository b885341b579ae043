"""An upstream on the OpenAI wire whose replies are TOKENS tokens at RATE a second, kept by the clock: a reply that was
late by a token is not late by the next. Costs next to nothing, so that the benchmark measures what is before it.

Prints its port. Run by benchmarks.experiments.
"""

import asyncio
import re
import sys

TOKENS, RATE = 40, 100


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TOKEN = _framed(b'data: {"id":"c","model":"paced","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n')
END = (
    _framed(
        b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":%d}}\n\n' % TOKENS
    )
    + _framed(b"data: [DONE]\n\n")
    + b"0\r\n\r\n"
)


class Paced(asyncio.Protocol):
    """One connection: answers each request with the stream."""

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
            self.send(1)

    def send(self, number: int) -> None:
        """The tokens that are due by now; token `number` is due at number / RATE seconds."""
        if self.transport.is_closing():
            return
        due = int((asyncio.get_running_loop().time() - self.begun) * RATE + 0.01)
        last = min(max(number - 1, due), TOKENS)
        self.transport.write(TOKEN * (last - number + 1) + (END if last == TOKENS else b""))
        if last < TOKENS:
            asyncio.get_running_loop().call_at(self.begun + (last + 1) / RATE, self.send, last + 1)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Paced, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
