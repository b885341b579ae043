"""Server-sent events, cut out of bytes that arrive in any pieces. Source: WHATWG HTML, section 9.2."""

from collections.abc import AsyncIterator

import msgspec

# No provider sends an event that long; without a bound a broken upstream could fill the memory.
EVENT_MAX_BYTES = 8_000_000


class EventTooLong(Exception):
    """The upstream sent an event without an end."""


async def sse_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the `data` of each event as bytes. Comments and other fields are left out; an event that was not closed
    by an empty line when the stream ends is yielded too, since some services forget it. Raises EventTooLong."""
    async for arrived in sse_together(chunks):
        for data in arrived:
            yield data


async def sse_together(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """The same, with what arrived in one piece in one list, never an empty one."""
    rest = b""
    data: list[bytes] = []
    size = 0  # of `data`
    async for chunk in chunks:
        if b"\r" in chunk or rest.endswith(b"\r"):
            rest, chunk = b"", (rest + chunk)
            held = b"\r" if chunk.endswith(b"\r") else b""  # its line feed may come with the next piece
            chunk = chunk[: len(chunk) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        else:
            held = b""
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop() + held
        found: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                size += len(line)
            elif not line and data:
                found.append(data[0] if len(data) == 1 else b"\n".join(data))
                data, size = [], 0
        if found:
            yield found
        if len(rest) + size > EVENT_MAX_BYTES:
            raise EventTooLong
    if rest.startswith(b"data:"):
        data.append(rest[5:].strip())
    last = b"\n".join(data)
    # What was cut off within an event is no event: the connection was lost, and that is what should be said.
    if last == b"[DONE]" or _is_json(last):
        yield [last]


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
