"""An upstream that speaks the OpenAI wire and costs next to nothing, so that the benchmark measures what is before it.

Every answer is about a hundred tokens of markdown at RATE tokens a second, with a number of its own in each block, so
that nobody renders it from a cache. The first and the last token carry the time at which they were sent, and the last
one also a checksum of everything before it, so that a client can tell by itself how late each was and whether anything
is missing.
"""

import asyncio
import re
import sys
import time
import zlib
from itertools import count

import msgspec

RATE = 30.0  # tokens a second for one stream
TEXT = """ is when answer NUMBER began. A hash table keeps each *key* beside its value, and finds both in constant time,
as long as the keys spread well over the buckets.

1. Compute the **hash** of key NUMBER.
2. Take it modulo the number of buckets.
3. Walk the short chain that starts there, and compare.

```python
def find(table, key):
    for other, value in table[hash(key) % len(table)]:
        if other == key:
            return value  # NUMBER
    raise KeyError(key)
```

When the table fills up, chains grow, so it is copied into a larger one; over many insertions that costs little. The
order of all NUMBER keys means nothing, which is the price.

Done:"""
NUMBERS = count(10_000)
TOKENS = re.findall(r"\s*\S+", TEXT)
CHUNKS = len(TOKENS) + 2
FIRST = re.compile(r"^sent=(\d+\.\d+)")
LAST = re.compile(r" crc=(\d+) sent=(\d+\.\d+)$")


def sent_at(text: str) -> tuple[float, float]:
    """When the first and the last token of a whole answer left. Raises ValueError where it is not what was sent."""
    first, last = FIRST.search(text), LAST.search(text)
    if not first or not last:
        raise ValueError("the answer has no beginning or no end")
    if zlib.crc32(text[: last.start()].encode()) != int(last[1]):
        raise ValueError("the answer was changed on its way")
    return float(first[1]), float(last[2])


def _event(content: str) -> bytes:
    data = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": content}}]}
    return _framed(b"data: " + msgspec.json.encode(data) + b"\n\n")


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


MIDDLE = [None if "NUMBER" in token else _event(token) for token in TOKENS]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = (
    _framed(
        b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":%d}}\n\n' % CHUNKS
    )
    + _framed(b"data: [DONE]\n\n")
    + b"0\r\n\r\n"
)


class Upstream(asyncio.Protocol):
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
            self.crc = 0
            self.begun = asyncio.get_running_loop().time()
            self.send(0)

    def send(self, index: int) -> None:
        if self.transport.is_closing():
            return
        if index == 0:
            first = f"sent={time.time():.6f}"
            self.number = str(next(NUMBERS))
            self.crc = zlib.crc32((first + TEXT.replace("NUMBER", self.number)).encode())
            self.transport.write(_event(first))
        elif index <= len(MIDDLE):
            self.transport.write(MIDDLE[index - 1] or _event(TOKENS[index - 1].replace("NUMBER", self.number)))
        else:
            self.transport.write(_event(f" crc={self.crc} sent={time.time():.6f}") + END)
            return
        asyncio.get_running_loop().call_at(self.begun + (index + 1) / RATE, self.send, index + 1)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
