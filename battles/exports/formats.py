"""Rows to bytes: JSON lines, CSV and Parquet, each in pieces as the rows come."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from common.csv import csv_lines

Rows = Iterator[dict[str, Any]]
Columns = dict[str, str]
PIECE_BYTES = 64 * 1024
# Larger groups compress little better, and each is held in memory until it is written.
ROWS_A_GROUP = 2000


@dataclass(frozen=True, slots=True)
class Format:
    slug: str
    media_type: str
    write: Callable[[Columns, Rows], Iterator[bytes]]


def _in_pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Joined to pieces worth sending."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def jsonl(columns: Columns, rows: Rows) -> Iterator[bytes]:
    """One JSON object a line, UTF-8."""
    encode = msgspec.json.encode
    return _in_pieces(encode(row) + b"\n" for row in rows)


def csv(columns: Columns, rows: Rows) -> Iterator[bytes]:
    """With a header; messages are JSON within a cell, and no cell is one that a spreadsheet would run."""
    cells = ([_cell(row[name], kind) for name, kind in columns.items()] for row in rows)
    return _in_pieces(line.encode() for line in csv_lines(list(columns), cells))


def _cell(value: Any, kind: str) -> Any:
    return json.dumps(value, ensure_ascii=False) if kind == "messages" else value


def parquet(columns: Columns, rows: Rows) -> Iterator[bytes]:
    """Apache Parquet, zstd; the schema is written even where there are no rows."""
    import pyarrow as arrow  # 50 MB of library that only this format needs
    from pyarrow import parquet as files

    types = {
        "text": arrow.string(),
        "bool": arrow.bool_(),
        "number": arrow.float64(),
        "messages": arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())])),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in columns.items()])
    sink = _Drained()
    with files.ParquetWriter(sink, schema, compression="zstd") as writer:
        yield sink.take()
        while group := _group(rows):
            columns_of = [arrow.array([row[name] for row in group], schema.field(name).type) for name in columns]
            writer.write_table(arrow.Table.from_arrays(columns_of, schema=schema))
            yield sink.take()
    yield sink.take()


def _group(rows: Rows) -> list[dict[str, Any]]:
    return [row for _, row in zip(range(ROWS_A_GROUP), rows, strict=False)]


class _Drained(io.RawIOBase):
    """A file that is only written, and given away in pieces."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._held += piece
        self._written += len(piece)
        return len(piece)

    def take(self) -> bytes:
        piece = bytes(self._held)
        self._held.clear()
        return piece


FORMATS: dict[str, Format] = {
    one.slug: one
    for one in (
        Format("jsonl", "application/jsonl; charset=utf-8", jsonl),
        Format("csv", "text/csv; charset=utf-8", csv),
        Format("parquet", "application/vnd.apache.parquet", parquet),
    )
}
