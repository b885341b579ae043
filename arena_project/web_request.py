"""What daphne does with the body of a request, before anybody knows whose it is.

Twisted, below daphne, writes all of it to disk, daphne then puts all of it into memory, and neither has a limit;
Django's own limits are for what it parses. Imported only where daphne runs.
"""

import json
from typing import Any

from daphne.http_protocol import WebRequest
from django.conf import settings

from common.api import API_PREFIX, TooLarge, error_body

MEGABYTE = 1024 * 1024


class BoundedRequest(WebRequest):  # type: ignore[misc] # daphne has no types
    """Throws away what goes beyond REQUEST_MAX_MB, and says so when the client has sent all: one that is cut off while
    it sends would not read the answer. Forms are left to Django: Twisted would parse them on the event loop, where a
    file of 10 MB can stop all answers for seconds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, parsePOSTFormSubmission=False)
        self._received = 0
        self._is_too_large = False

    def gotLength(self, length: int | None) -> None:
        super().gotLength(min(length or 0, settings.REQUEST_MAX_MB * MEGABYTE))

    def handleContentChunk(self, data: bytes) -> None:
        self._received += len(data)
        if self._received <= settings.REQUEST_MAX_MB * MEGABYTE:
            super().handleContentChunk(data)
        elif not self._is_too_large:
            self._is_too_large = True
            self.content.seek(0)
            self.content.truncate()

    def process(self) -> Any:
        if not self._is_too_large:
            return super().process()
        if not self.path.startswith(API_PREFIX.encode()):
            return self.basic_error(TooLarge.status, b"Content Too Large", TooLarge.message)
        body = json.dumps(error_body(TooLarge.code, TooLarge.message)).encode()
        headers = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(body)).encode())]
        self.handle_reply({"type": "http.response.start", "status": TooLarge.status, "headers": headers})
        return self.handle_reply({"type": "http.response.body", "body": body})
