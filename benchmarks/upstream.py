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

from benchmarks.streamed import Streamed, end_of, framed, serve

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
    return framed(b"data: " + msgspec.json.encode(data) + b"\n\n")


MIDDLE = [None if "NUMBER" in token else _event(token) for token in TOKENS]
END = end_of(CHUNKS)


class Upstream(Streamed):
    """One connection: answers each request with the stream."""

    def begin(self) -> None:
        self.crc = 0
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


if __name__ == "__main__":
    sys.exit(asyncio.run(serve(Upstream)))
