"""A program that uses a test server: the API over HTTP, and the WebSocket, both as any client would."""

import json
import re
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.server import Account, Server

JSON = dict[str, Any]
FRAME_WITHIN_SECONDS = 15.0


class Person:
    """One account at one server. `headers` go with each call of the API, as a proxy adds them."""

    def __init__(self, server: Server, account: Account, **headers: str) -> None:
        self.server = server
        self.account = account
        self.headers = headers

    def call(self, method: str, path: str, body: JSON | None = None, **headers: str) -> tuple[int, JSON]:
        status, text = self.call_raw(method, path, body, **headers)
        return status, json.loads(text or "{}")

    def call_raw(self, method: str, path: str, body: JSON | None = None, **headers: str) -> tuple[int, str]:
        request = self._request(method, path, body, **headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def page(self, path: str) -> str:
        """A page as their browser gets it."""
        cookie = f"{self.server.cookie_name}={self.account.session_key}"
        request = urllib.request.Request(f"{self.server.url}{path}", headers={"Cookie": cookie})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(answer.read().decode())

    def upload(self, image: bytes) -> tuple[int, JSON]:
        """Send an image as a form does."""
        head = 'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png'
        return self.send_form(b"--edge\r\n" + head.encode() + b"\r\n\r\n" + image + b"\r\n--edge--\r\n")

    def send_form(self, form: bytes) -> tuple[int, JSON]:
        """Send a form with parts between lines of --edge."""
        request = urllib.request.Request(
            f"{self.server.url}/api/v1/images/",
            method="POST",
            data=form,
            headers={
                "Authorization": f"Bearer {self.account.api_key}",
                "Content-Type": "multipart/form-data; boundary=edge",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())

    def events(self, path: str, body: JSON) -> Iterator[JSON]:
        """The frames of an event stream, as they come."""
        request = self._request("POST", path, body, Accept="text/event-stream")
        with urllib.request.urlopen(request, timeout=30) as answer:
            for line in answer:
                if data := line.decode().removeprefix("data: ").strip():
                    yield json.loads(data)

    def _request(self, method: str, path: str, body: JSON | None = None, **headers: str) -> urllib.request.Request:
        return urllib.request.Request(
            f"{self.server.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.account.api_key}", "Content-Type": "application/json"}
            | {name.replace("_", "-"): value for name, value in (self.headers | headers).items()},
        )

    def battle(self, *scripts: str, prompt: str = "Why is the sky blue?", **fields: Any) -> JSON:
        """Start a battle of the models that play these scripts."""
        models = [f"axolotl-{script}" for script in scripts]
        status, battle = self.call("POST", "battles/", {"prompt": prompt, "models": models, **fields})
        assert status == 201, battle
        return battle

    def watch(self, battle_id: str) -> "Window":
        return Window(self, battle_id)


class Window:
    """One WebSocket on one battle, or one conversation; keeps every frame that came."""

    def __init__(self, person: Person, id: str, what: str = "battles") -> None:
        self.frames: list[JSON] = []
        self.ended: dict[str, JSON] = {}
        self.socket: ClientConnection = connect(
            f"{person.server.ws_url}/ws/{what}/{id}/",
            additional_headers={"Cookie": f"{person.server.cookie_name}={person.account.session_key}"},
            origin=person.server.url,  # type: ignore[arg-type]
            legacy=True,
        )

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, type: str, **content: Any) -> None:
        self.socket.send(json.dumps({"type": type, **content}))

    def next(self) -> JSON:
        frame: JSON = json.loads(self.socket.recv(timeout=FRAME_WITHIN_SECONDS))
        self.frames.append(frame)
        self._note(frame)
        return frame

    def until(self, *types: str) -> JSON:
        """The next frame of one of these types."""
        while True:
            frame = self.next()
            if frame["type"] in types:
                return frame

    def until_closed(self) -> int:
        """The code with which the server closes it."""
        try:
            while True:
                self.next()
        except ConnectionClosed as closed:
            return int(closed.rcvd.code) if closed.rcvd else 0

    def until_ended(self, sides: int = 2) -> dict[str, JSON]:
        """How each side of the last turn ended, as soon as so many have: its last frame, or its part of a snapshot."""
        while len(self.ended) < sides:
            self.next()
        return dict(self.ended)

    def _note(self, frame: JSON) -> None:
        match frame["type"]:
            case "snapshot" | "revealed" if "battle" in frame:
                responses = [r for turn in frame["battle"]["turns"][-1:] for r in turn["responses"]]
                can_vote = frame["battle"]["can_vote"]
                self.ended = {
                    r["side"]: r | {"type": "failed" if r["kind"] else "finished", "can_vote": can_vote}
                    for r in responses
                    if r["status"] not in ("waiting", "streaming")
                }
            case "turn":
                self.ended = {}
            case "waiting":
                self.ended.pop(frame["side"], None)
            case "finished" | "failed":
                self.ended[frame["side"]] = frame

    def text_of(self, side: str) -> str:
        """What a browser shows of this side, from the frames alone: the open text, and how many blocks came."""
        tail = ""
        for frame in self.frames:
            if frame["type"] in ("snapshot", "revealed"):
                responses = [r for turn in frame["battle"]["turns"][-1:] for r in turn["responses"]]
                tail = next((r["tail"] for r in responses if r["side"] == side), "")
            elif frame.get("side") == side and frame["type"] == "delta":
                tail += frame["text"]
            elif frame.get("side") == side and frame["type"] == "block":
                tail = frame["tail"]
        return tail

    def html_of(self, side: str) -> str:
        """The finished blocks of this side, put together from the frames."""
        html = ""
        for frame in self.frames:
            if frame["type"] == "snapshot":
                responses = [r for turn in frame["battle"]["turns"][-1:] for r in turn["responses"]]
                html = next((r["html"] for r in responses if r["side"] == side), "")
            elif frame.get("side") == side and frame["type"] == "block":
                html += frame["html"]
        return html


class Browser:
    """A session of its own: logs in by a link and out by the form."""

    def __init__(self, server: Server, account: Account) -> None:
        self.server = server
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        link = server.manage("login_link", account.username).strip().split()[-1]
        self._open(re.sub(r"^https?://[^/]+", "", link))
        session = next(cookie.value for cookie in self.cookies if cookie.name == server.cookie_name)
        self.person = Person(server, Account(account.username, session or "", account.api_key))

    def log_out(self) -> None:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self._open("/account/logout/"))
        assert token
        self._open("/account/logout/", f"csrfmiddlewaretoken={token[1]}".encode())

    def _open(self, path: str, form: bytes | None = None) -> str:
        with self._opener.open(self.server.url + path, form, timeout=30) as page:
            return str(page.read().decode())
