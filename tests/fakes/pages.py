"""A web server that answers GET requests with what a test lays out for it, on a real socket."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Page:
    body: Any = b""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Pages:
    """`with Pages({"/v1/models": Page({"data": []})}) as pages:`. A path with its query is looked for first, then
    without it. `needs` are headers without which every page is a 401. `asked` holds path and headers of each
    request."""

    def __init__(self, pages: dict[str, Page], needs: dict[str, str] | None = None) -> None:
        self.pages = pages
        self.needs = needs or {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def page(self, path: str, headers: dict[str, str]) -> Page:
        self.asked.append((path, headers))
        if any(headers.get(name) != value for name, value in self.needs.items()):
            return Page({"error": {"message": f"who are you? {headers}"}}, 401)
        missing = Page({"error": {"message": "no such page"}}, 404)
        return self.pages.get(path) or self.pages.get(path.partition("?")[0]) or missing

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages.page(self.path, {name.lower(): value for name, value in self.headers.items()})
                content = page.content()
                self.send_response(page.status)
                for name, value in {"Content-Type": page.kind, "Content-Length": len(content), **page.headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        return Handler
