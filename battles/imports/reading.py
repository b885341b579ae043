"""Rows of a hostile file: JSON, JSON Lines or CSV, each perhaps packed with gzip. Knows rows, not what they mean.

One row at a time is in memory, and a row, a file and what a packed file unpacks to have limits.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

import msgspec

from battles.imports.errors import ImportInvalid, at

ROW_BYTES = 4 * 2**20
# Unpacked. The largest public set of votes has two.
FILE_BYTES = 8 * 2**30
CHUNK_BYTES = 2**20
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
TOO_LONG = f"this row is longer than {ROW_BYTES // 2**20} MiB."
# A whole string, a bracket, or the beginning of a string whose end has not been read yet.
TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]|"', re.DOTALL)

Row = tuple[int, dict[str, Any]]


def rows(file: IO[bytes]) -> Iterator[Row]:
    """Yield (line, row) from the beginning of `file`. Raises ImportInvalid with the line."""
    file.seek(0)
    is_packed = file.read(len(GZIP)) == GZIP
    file.seek(0)
    lines = _Lines(cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_packed else file)
    try:
        first = lines.first()
        if first.startswith(b"["):
            yield from _json(lines)
        elif first.startswith(b"{"):
            yield from _jsonl(lines)
        elif first:
            yield from _csv(lines)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise at(lines.number + 1, "the packed file is damaged or cut off.") from error


class _Lines:
    """The lines of a file with a limit on each and on all."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._bytes = 0
        self.number = 0
        self._again: list[bytes] = []

    def first(self) -> bytes:
        """The first line that is not empty, without its byte order mark; it will be read again. It may be cut, as a
        list of rows may be one line."""
        line = self._file.readline(ROW_BYTES + 1)
        if line.startswith(BOM):
            line = line[len(BOM) :]
        while line and not line.strip() and len(line) <= ROW_BYTES:
            self.number += 1
            line = self._file.readline(ROW_BYTES + 1)
        if line:
            self._again.append(line)
        return line.lstrip()

    def read(self) -> bytes:
        """The next line with its end; empty at the end of the file."""
        line = self._again.pop() if self._again else self._file.readline(ROW_BYTES + 1)
        if len(line) > ROW_BYTES:
            raise at(self.number + 1, TOO_LONG)
        self._count(line)
        self.number += bool(line)
        return line

    def chunk(self) -> bytes:
        """Some bytes, whatever the lines in them; empty at the end of the file."""
        data = self._again.pop() if self._again else self._file.read(CHUNK_BYTES)
        self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > FILE_BYTES:
            raise ImportInvalid(f"The file has more than {FILE_BYTES // 2**30} GiB. Split it; nothing was kept.")


def _jsonl(lines: _Lines) -> Iterator[Row]:
    while line := lines.read():
        if line.strip():
            yield lines.number, _object(line, lines.number)


def _object(data: bytes, line: int) -> dict[str, Any]:
    try:
        row = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise at(line, "this is not JSON in UTF-8.") from error
    if not isinstance(row, dict):
        raise at(line, "each row must be an object with keys and values.")
    return row


def _json(lines: _Lines) -> Iterator[Row]:
    """The objects of one long list, cut out by their brackets."""
    data, position, depth, start, line = b"", 0, 0, 0, lines.number + 1
    while chunk := lines.chunk():
        data, position = data[start:] + chunk, position - start
        start = 0
        for token in TOKEN.finditer(data, position):
            word = token[0]
            if word == b'"':
                break  # the string ends in the next chunk: look at it again
            position = token.end()
            if word in (b"{", b"["):
                if depth == 1:
                    line += data.count(b"\n", start, token.start())
                    _between(data[start : token.start()], line)
                    start = token.start()
                depth += 1
            elif word in (b"}", b"]"):
                depth -= 1
                if depth == 1:
                    yield line, _object(data[start:position], line)
                    line += data.count(b"\n", start, position)
                    start = position
                elif depth < 1:
                    if word != b"]" or data[position:].strip() or lines.chunk().strip():
                        raise at(line, "the list of rows ends too early.")
                    _between(data[start : position - 1], line)
                    return
            elif depth == 1:
                raise at(line, "each row must be an object with keys and values.")
            if depth == 1 and word == b"[" and not start:
                start = position
        if len(data) - start > ROW_BYTES + CHUNK_BYTES:
            raise at(line, TOO_LONG)
    raise at(line, "the list of rows has no end.")


def _between(data: bytes, line: int) -> None:
    if data.strip(b" \t\r\n,["):
        raise at(line, "there is something between the rows that is none.")


def _csv(lines: _Lines) -> Iterator[Row]:
    csv.field_size_limit(ROW_BYTES)
    reader = csv.reader(_texts(lines), strict=True)
    try:
        header = next(reader)
        if len(set(header)) != len(header):
            raise at(1, "a column is there twice.")
        begin = lines.number + 1
        for cells in reader:
            if cells:
                if len(cells) != len(header):
                    raise at(begin, f"it has {len(cells)} columns, the header {len(header)}.")
                yield begin, dict(zip(header, cells, strict=True))
            begin = lines.number + 1
    except csv.Error as error:
        raise at(lines.number, "this is not CSV, or a text in it is too long.") from error


def _texts(lines: _Lines) -> Iterator[str]:
    while line := lines.read():
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise at(lines.number, "this is not UTF-8.") from error
