"""What was seen before, on disk: an export of millions of rows remembers each of them in constant memory."""

import hashlib
import sqlite3
from typing import Any

import msgspec

CACHE_KIB = 16_000


def digest(*parts: Any) -> int:
    """64 bits of SHA-256 over the parts, as SQLite stores integers."""
    whole = hashlib.sha256(msgspec.json.encode(parts)).digest()
    return int.from_bytes(whole[:8], "big", signed=True)


class Seen:
    """A set of digests and a tally of votes, in a temporary file that is gone with it."""

    def __init__(self) -> None:
        # Portions are asked for one after another, but in whatever thread is free.
        self._disk = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._disk.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._disk.execute("PRAGMA synchronous=OFF")
        self._disk.execute("PRAGMA journal_mode=OFF")
        self._disk.execute("CREATE TABLE seen (digest INTEGER PRIMARY KEY)")
        self._disk.execute("CREATE TABLE tally (digest INTEGER PRIMARY KEY, votes INTEGER, first INTEGER)")
        self._disk.execute("BEGIN")

    def is_new(self, value: int) -> bool:
        """Remember a digest; False if it was there."""
        return self._disk.execute("INSERT OR IGNORE INTO seen VALUES (?)", (value,)).rowcount == 1

    def count(self, value: int, *, is_first: bool) -> None:
        """Add a vote on the two texts with this digest."""
        self._disk.execute(
            "INSERT INTO tally VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET votes=votes+1, first=first+excluded.first",
            (value, int(is_first)),
        )

    def tally(self, value: int) -> tuple[int, int]:
        """How many votes, and how many of them for the text that sorts first."""
        row = self._disk.execute("SELECT votes, first FROM tally WHERE digest=?", (value,)).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def close(self) -> None:
        self._disk.close()
