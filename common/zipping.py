"""ZIP archives written from front to back: no archive, and no file in one, is ever whole in memory or on a disk."""

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils import timezone


def zipped(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """The archive in pieces. Each file is its name and its bytes in pieces; the next one is asked for when the one
    before has ended."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, pieces in files:
            with archive.open(_entry(name), "w", force_zip64=True) as entry:
                for piece in pieces:
                    entry.write(piece)
                    if packed := sink.take():
                        yield packed
    yield sink.take()


def _entry(name: str) -> zipfile.ZipInfo:
    now = timezone.now()
    entry = zipfile.ZipInfo(name, (now.year, now.month, now.day, now.hour, now.minute, now.second))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class _Sink(io.RawIOBase):
    """A stream that cannot be rewound, so that the archive is written from front to back."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._held += piece
        return len(piece)

    def take(self) -> bytes:
        piece = bytes(self._held)
        self._held.clear()
        return piece
