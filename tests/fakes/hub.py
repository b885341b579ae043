"""A fake model hub on the hub's own wire: what HF_ENDPOINT names in tests. `cut` at 2 ends a transfer half-way
and at 1 refuses all further ones, `rubbish` sends other bytes than the list promises."""

import hashlib
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40


class Hub:
    """`with Hub({"org/model": {"config.json": b"…"}}) as hub:`. `sent` counts the bytes of each file."""

    def __init__(self, models: dict[str, dict[str, bytes]]) -> None:
        self.models = models
        self.gated: set[str] = set()
        self.cut: Counter[str] = Counter()  # by file
        self.rubbish: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self, has_body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, has_body=False)

            def log_message(self, format: str, *args: Any) -> None:
                hub.asked.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, *, has_body: bool) -> None:
        parts = unquote(urlsplit(request.path).path).strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            return self._info(request, "/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main")
        hub_id, name = "/".join(parts[:2]), "/".join(parts[4:])
        content = self.models.get(hub_id, {}).get(name)
        if content is None or parts[2] != "resolve":
            return self._send(request, 404, b"", X_Error_Code="EntryNotFound")
        first = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        headers = {"ETag": f'"{self._etag(name, content)}"', "X_Repo_Commit": COMMIT, "Accept_Ranges": "bytes"}
        if first:
            headers["Content_Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        body = content[first:]
        if has_body and self.rubbish[name]:
            self.rubbish[name] -= 1
            body = b"?" * len(body)
        if has_body and self.cut[name] == 1:
            return self._send(request, 403, b"")
        short = has_body and self.cut[name] > 1
        self._send(request, 206 if first else 200, body, body=body[: len(body) // 2] if short else body,
                   is_sent=has_body, **headers)  # fmt: skip
        if has_body:
            self.sent[name] += len(body) // (2 if short else 1)
        if short:
            self.cut[name] -= 1
            request.close_connection = True

    def _info(self, request: BaseHTTPRequestHandler, hub_id: str, revision: str) -> None:
        if hub_id in self.gated:
            return self._send(request, 403, b"{}", X_Error_Code="GatedRepo")
        if hub_id not in self.models:
            return self._send(request, 404, b"{}", X_Error_Code="RepoNotFound")
        if revision not in ("main", COMMIT):
            return self._send(request, 404, b"{}", X_Error_Code="RevisionNotFound")
        siblings = []
        for name, content in self.models[hub_id].items():
            sha256 = hashlib.sha256(content).hexdigest()
            is_large = name.endswith((".safetensors", ".bin"))
            lfs = {"sha256": sha256, "size": len(content), "pointerSize": 1} if is_large else None
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            siblings.append({"rfilename": name, "size": len(content), "blobId": blob, **({"lfs": lfs} if lfs else {})})
        info = {"id": hub_id, "modelId": hub_id, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
        self._send(request, 200, json.dumps(info).encode())

    def _etag(self, name: str, content: bytes) -> str:
        return hashlib.sha256(name.encode() + content).hexdigest()

    def _send(
        self, request: BaseHTTPRequestHandler, status: int, promised: bytes, *, body: bytes | None = None,
        is_sent: bool = True, **headers: str,
    ) -> None:  # fmt: skip
        request.send_response(status)
        for name, value in {**headers, "Content_Length": str(len(promised))}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        if is_sent:
            request.wfile.write(promised if body is None else body)
