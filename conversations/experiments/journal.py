"""The log of an experiment on disk, a line a turn as it ends, in the columns of the export.

A line is written after its turn is in the database, whole and in one piece. A process that is killed leaves whole lines
or a torn last one, which the next one cuts off; it adds what the database has and the file has not.
"""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import msgspec
from django.conf import settings

FILE = "turns.jsonl"
ROWS_AT_ONCE = 1_000  # in memory, of a log that is written anew
# What tells one attempt at a turn from all others: a digest, since a log may have millions of lines. Of use within one
# process only.
Key = int


class _Line(msgspec.Struct):
    """What a key is made of."""

    conversation: str
    turn_id: int | None
    started_at: str | None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Line)


def folder_of(experiment_id: UUID) -> Path:
    """Where an experiment's log lies, unless another folder was asked for."""
    return Path(settings.VAR) / "experiments" / str(experiment_id)


def key_of(row: dict[str, Any]) -> Key:
    return hash((row["conversation"], row["turn_id"], row["started_at"]))


class Journal:
    """One process writes it at a time. Opening it mends the file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o640)
        self._mend()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add a line for each row. Raises OSError, for example where the disk is full."""
        written = (_encoder.encode(row) + b"\n" for row in rows)
        while lines := b"".join(islice(written, ROWS_AT_ONCE)):
            while lines:
                lines = lines[os.write(self._file, lines) :]

    def known(self) -> set[Key]:
        """Which turns are in it already; reads the whole file."""
        found = set()
        with self.path.open("rb") as lines:
            for line in lines:
                read = _decoder.decode(line)
                found.add(hash((read.conversation, read.turn_id, read.started_at)))
        return found

    def _mend(self) -> None:
        """Cut off a last line without its end."""
        end = os.lseek(self._file, 0, os.SEEK_END)
        at = end
        while at > 0:
            start = max(0, at - 65_536)
            piece = os.pread(self._file, at - start, start)
            if (found := piece.rfind(b"\n")) >= 0:
                at = start + found + 1
                break
            at = start
        if at < end:
            os.ftruncate(self._file, at)
