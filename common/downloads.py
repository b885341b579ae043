"""Downloads that are never whole in memory: of stored files, and of what is made on the way."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files.base import File
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from common.database import in_database_thread

PIECE_BYTES = 256 * 1024


def file_download(file: "File[Any]", *, name: str, media_type: str) -> StreamingHttpResponse:
    """The file under `name`. Django's own FileResponse is read to its end before a byte is sent."""
    headers = {"Content-Length": str(file.size), "X-Content-Type-Options": "nosniff"}
    if disposition := content_disposition_header(True, name):
        headers["Content-Disposition"] = disposition
    return StreamingHttpResponse(_pieces(file), content_type=media_type, headers=headers)


def stream_download(pieces: Iterator[bytes], *, name: str, media_type: str) -> StreamingHttpResponse:
    """What is made while it leaves, under `name`. The pieces may ask the database."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if disposition := content_disposition_header(True, name):
        headers["Content-Disposition"] = disposition
    return StreamingHttpResponse(streamed(pieces), content_type=media_type, headers=headers)


async def streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Django would read a plain iterator to its end before it sends a byte."""
    take = in_database_thread(lambda: next(pieces, None))
    while (piece := await take()) is not None:
        if piece:
            yield piece


async def _pieces(file: "File[Any]") -> AsyncIterator[bytes]:
    read = sync_to_async(file.read)
    try:
        while piece := await read(PIECE_BYTES):
            yield piece
    finally:
        file.close()
