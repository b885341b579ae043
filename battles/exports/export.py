"""One export from its filters to its bytes, in constant memory."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from django.conf import settings
from django.utils import timezone

from battles.exports import cards
from battles.exports.errors import ExportInvalid
from battles.exports.formats import FORMATS
from battles.exports.kinds import kind_of
from battles.exports.reading import votes_counted
from battles.exports.rows import Columns, Row
from battles.exports.seen import Seen
from battles.exports.selection import Selection
from common.zipping import zipped

GZIP = 16 + zlib.MAX_WBITS
COUNTED_AT_MOST = 10_000
# Rows between two words to who watches.
TOLD_EVERY = 100
NOTHING = "Nothing fits these filters, so the file has no rows."


class Export:
    """`pieces()` makes the file; `rows` and `skipped` are complete when it has ended.

    Raises ExportInvalid for an unknown kind or format, an unknown board, and for whole trajectories as plain text.
    """

    def __init__(
        self,
        *,
        kind: str,
        format: str,
        selection: Selection,
        bundle: bool = False,
        gzip: bool = False,
        on_row: Callable[[int], None] = lambda rows: None,
    ) -> None:
        if format not in FORMATS:
            raise ExportInvalid(f"There is no format “{format}”. Known are: {', '.join(FORMATS)}.")
        self.kind = kind_of(kind)
        if selection.trajectories and selection.shape == "standard" and self.kind.is_plain:
            message = "A whole trajectory has several messages: ask for shape=conversational with it."
            raise ExportInvalid(message, fields={"trajectories": [message]})
        self.format = FORMATS[format]
        self.selection = selection
        self.bundle = bundle
        self.gzip = gzip and not bundle
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self._on_row = on_row
        self._seen = Seen()
        rows = self.kind.rows(selection, self._seen, self.skipped)
        # The first row is made now: what is wrong with the filters shows before an answer has begun.
        first = next(rows, None)
        self.is_empty = first is None
        self._rows = chain([] if first is None else [first], rows)

    @property
    def data_name(self) -> str:
        return f"{self.kind.slug}.{self.format.slug}"

    @property
    def name(self) -> str:
        if self.bundle:
            return f"{self.kind.slug}.zip"
        return f"{self.data_name}.gz" if self.gzip else self.data_name

    @property
    def media_type(self) -> str:
        if self.bundle:
            return "application/zip"
        return "application/gzip" if self.gzip else self.format.media_type

    def each(self) -> Iterator[Row]:
        """The rows, once."""
        try:
            yield from self._counted()
        finally:
            self._seen.close()

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the file, once."""
        try:
            data = self.format.write(self._columns, self._counted())
            if self.bundle:
                yield from zipped(self._bundled(data))
            else:
                yield from gzipped(data) if self.gzip else data
        finally:
            self._seen.close()

    def manifest(self) -> dict[str, Any]:
        """What the file holds; complete after `pieces()`."""
        return cards.manifest(
            kind=self.kind.slug,
            file=self.data_name,
            columns=self._columns,
            filters=self.selection.described(),
            counts={"rows": self.rows, "skipped": dict(sorted(self.skipped.items()))},
            code_version=settings.VERSION,
            created_at=timezone.now().isoformat(timespec="seconds"),
            message=NOTHING if self.is_empty else "",
        )

    @property
    def _columns(self) -> Columns:
        return self.kind.columns(self.selection)

    def _counted(self) -> Iterator[Row]:
        for row in self._rows:
            if self.rows % TOLD_EVERY == 0:
                self._on_row(self.rows)
            self.rows += 1
            yield row

    def _bundled(self, data: Iterator[bytes]) -> Iterator[tuple[str, Iterable[bytes]]]:
        yield self.data_name, data
        told = self.manifest()
        yield "manifest.json", [json.dumps(told, indent=2, ensure_ascii=False).encode()]
        yield "README.md", [cards.card(told, task=self.kind.task).encode()]


def gzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces as one gzip stream."""
    packer = zlib.compressobj(wbits=GZIP)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def votes_estimated(*, kind: str, selection: Selection) -> tuple[int, bool]:
    """How many votes the filters leave, counted up to COUNTED_AT_MOST, and whether there are more. A row may be left
    out for what its texts say, and a ranking gives several, so the file may have fewer rows, or more."""
    found = votes_counted(selection, kind=kind, limit=COUNTED_AT_MOST + 1)
    return min(found, COUNTED_AT_MOST), found > COUNTED_AT_MOST
