"""An upstream on the OpenAI wire whose replies are TOKENS tokens at RATE a second, kept by the clock: a reply that was
late by a token is not late by the next. Costs next to nothing, so that the benchmark measures what is before it.

Prints its port. Run by benchmarks.experiments.
"""

import asyncio
import sys

from benchmarks.streamed import Streamed, end_of, framed, serve

TOKENS, RATE = 40, 100

TOKEN = framed(b'data: {"id":"c","model":"paced","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n')
END = end_of(TOKENS)


class Paced(Streamed):
    """One connection: answers each request with the stream."""

    def begin(self) -> None:
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


if __name__ == "__main__":
    sys.exit(asyncio.run(serve(Paced)))
