"""An upstream that serves so many at once and answers 429 to all others. Counts both.

`python -m benchmarks.limits_upstream PLACES SECONDS` prints its port. An answer takes SECONDS. `GET /counts` tells how
many were served and refused so far.
"""

import asyncio
import json
import re
import sys
import time

EVENT = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
BODY = EVENT + b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REFUSED = b'{"error":{"message":"too many"}}'
REFUSAL = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(REFUSED),
    REFUSED,
)
CONTENT_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Upstream:
    def __init__(self, places: int, seconds: float) -> None:
        self.places, self.seconds = places, seconds
        self.inside = 0
        self.served: list[float] = []
        self.refused: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = CONTENT_LENGTH.search(head)
                length = int(found[1]) if found else 0
                await reader.readexactly(length)
                if head.startswith(b"GET"):
                    counts = json.dumps({"served": self.served, "refused": self.refused}).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(counts), counts))
                elif self.inside >= self.places:
                    self.refused.append(time.time())
                    writer.write(REFUSAL)
                else:
                    await self._answer(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        self.inside += 1
        try:
            writer.write(HEAD)
            await asyncio.sleep(self.seconds)
        finally:
            self.inside -= 1
        self.served.append(time.time())
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))


async def main() -> None:
    upstream = Upstream(int(sys.argv[1]), float(sys.argv[2]))
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
