"""People at a cluster: each begins a battle, watches it, votes and looks at pages, again and again, and remembers what
the server has said. Bounded in people and in time; never sent anywhere but to this machine."""

import asyncio
import json
import random
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.cluster import Door
from tests.server import Account

JSON = dict[str, Any]
PATIENCE_SECONDS = 60.0  # of one person, for one thing that they want
AGAIN_SECONDS = 0.5
WATCH_SECONDS = 20.0  # without a frame; then the page is loaded anew
# What an answer must say where a part is away, for whoever reads it; a 500 says nothing.
WORDS = "Nothing that was saved is lost"
LOST = (httpx2.TransportError, WebSocketException, OSError, TimeoutError, EOFError)


class GaveUp(Exception):
    """What somebody wanted did not come about within their patience."""


@dataclass
class Ledger:
    """What happened, as the people saw it. Times are seconds since `began`; `votes` are those that were accepted."""

    began: float = field(default_factory=time.monotonic)
    took: dict[str, list[float]] = field(default_factory=dict)
    succeeded: dict[str, list[float]] = field(default_factory=dict)
    troubles: Counter[str] = field(default_factory=Counter)
    trouble_times: list[float] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    gave_up: list[str] = field(default_factory=list)
    battles: set[str] = field(default_factory=set)
    left_alone: set[str] = field(default_factory=set)
    votes: dict[str, str] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)  # by the words that were seen beside them

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    def done(self, kind: str, seconds: float) -> None:
        self.took.setdefault(kind, []).append(seconds)
        self.succeeded.setdefault(kind, []).append(self.now)

    def trouble(self, what: str) -> None:
        self.troubles[what] += 1
        self.trouble_times.append(self.now)

    def again_after(self, moment: float) -> dict[str, float]:
        """For each kind, how long after `moment` it first went well."""
        firsts = {kind: [t for t in times if t > moment] for kind, times in self.succeeded.items()}
        return {kind: min(times) - moment for kind, times in firsts.items() if times}


class Visitor:
    """One person with a browser and a key. `models` are slugs, none for any."""

    def __init__(self, door: Door, account: Account, ledger: Ledger, tls: ssl.SSLContext, models: list[str]) -> None:
        self.door, self.account, self.ledger, self.tls, self.models = door, account, ledger, tls, models
        self.client = httpx2.AsyncClient(verify=tls, base_url=door.url, timeout=30.0)
        self.cookie = {"Cookie": f"{door.cookie_name}={account.session_key}"}

    async def stay(self, is_over: Callable[[], bool]) -> None:
        """Play until it is over; what has been begun is brought to its end."""
        async with self.client:
            while not is_over():
                try:
                    await self.play()
                except GaveUp as error:
                    self.ledger.gave_up.append(str(error))

    async def play(self) -> None:
        battle = await self.begin()
        self.ledger.battles.add(battle)
        if random.random() < 0.1:
            self.ledger.left_alone.add(battle)
            return
        await self.page(f"/battles/{battle}/")
        can_vote = await self.watch(battle)
        if can_vote:
            await self.vote(battle, random.choice(("a", "b", "tie", "both_bad")))
        for path in ("/leaderboard/", random.choice(("/history/", "/battle/", "/account/usage/"))):
            await self.page(path)

    async def begin(self) -> str:
        body = {"prompt": f"Why is the sky blue? {uuid4().hex[:6]}", "models": self.models}
        began = time.monotonic()
        status, answer = await self.insist("battle", "POST", "battles/", body, fine=(201,))
        self.ledger.done("battle", time.monotonic() - began)
        assert status == 201
        return str(answer["id"])

    async def watch(self, battle: str) -> bool:
        """Until both sides have ended; whether there is something to vote on."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_SECONDS:
            try:
                async with self.socket(battle) as socket:
                    ended, can_vote = await self.follow(socket, began)
            except LOST as error:
                self.ledger.trouble(f"watch: {type(error).__name__}")
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            self.ledger.ends.update(ended.values())
            return can_vote
        raise GaveUp(f"watching {battle}")

    def socket(self, battle: str) -> connect:
        url = f"{self.door.ws_url}/ws/battles/{battle}/"
        origin: Any = self.door.url
        return connect(url, ssl=self.tls, origin=origin, additional_headers=self.cookie, open_timeout=15)

    async def follow(self, socket: ClientConnection, began: float) -> tuple[dict[str, str], bool]:
        """How each side ended, and whether a vote is possible."""
        ended: dict[str, str] = {}
        can_vote, has_words = False, False
        while len(ended) < 2:
            async with asyncio.timeout(WATCH_SECONDS):
                frame = json.loads(await socket.recv())
            match frame["type"]:
                case "snapshot":
                    responses = frame["battle"]["turns"][-1]["responses"]
                    ended = {r["side"]: r["status"] for r in responses if r["status"] not in ("waiting", "streaming")}
                    can_vote = frame["battle"]["can_vote"]
                case "finished":
                    ended[frame["side"]], can_vote = frame["status"], frame["can_vote"]
                case "failed":
                    ended[frame["side"]], can_vote = "failed", frame["can_vote"]
                    self.ledger.failures[frame["message"]] += 1
                case "delta" | "block" if not has_words:
                    has_words = True
                    self.ledger.done("first words", time.monotonic() - began)
        return ended, can_vote

    async def vote(self, battle: str, choice: str) -> None:
        """Vote until it is known that it was taken."""
        began = time.monotonic()
        path = f"battles/{battle}/preference/"
        status, answer = await self.insist("vote", "POST", path, {"choice": choice}, fine=(201, 409))
        if status == 409:
            # An earlier try was heard though its answer was not, or choices like this one are not possible.
            _, answer = await self.insist("vote", "GET", f"battles/{battle}/", None, fine=(200,))
            if not answer["preference"]:
                return
            assert answer["preference"]["choice"] == choice, (battle, choice, answer["preference"])
        self.ledger.votes[battle] = choice
        self.ledger.done("vote", time.monotonic() - began)

    async def page(self, path: str) -> None:
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_SECONDS:
            try:
                response = await self.client.get(path, headers=self.cookie)
            except LOST as error:
                self.ledger.trouble(f"page: {type(error).__name__}")
            else:
                if response.status_code == 200:
                    self.ledger.done("board" if path == "/leaderboard/" else "page", time.monotonic() - began)
                    return
                self.refused("page", response)
            await asyncio.sleep(AGAIN_SECONDS)
        raise GaveUp(f"page {path}")

    async def insist(
        self, kind: str, method: str, path: str, body: JSON | None, fine: tuple[int, ...]
    ) -> tuple[int, JSON]:
        """Ask until one of the fine answers comes, with one Idempotency-Key, as a careful program does."""
        headers = {"Authorization": f"Bearer {self.account.api_key}", "Idempotency-Key": uuid4().hex}
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_SECONDS:
            try:
                response = await self.client.request(method, f"/api/v1/{path}", json=body, headers=headers)
            except LOST as error:
                self.ledger.trouble(f"{kind}: {type(error).__name__}")
            else:
                if response.status_code == 409 and response.json()["error"]["code"] == "idempotency_in_progress":
                    # Whoever heard it first may be dead. Without a key the server still takes one vote only.
                    headers.pop("Idempotency-Key", None)
                elif response.status_code in fine:
                    return response.status_code, response.json()
                else:
                    self.refused(kind, response)
            await asyncio.sleep(AGAIN_SECONDS)
        raise GaveUp(f"{kind} {path}")

    def refused(self, kind: str, response: httpx2.Response) -> None:
        text = response.text
        code = ""
        if response.headers.get("content-type", "").startswith("application/json"):
            code = " " + str(json.loads(text)["error"]["code"])
        self.ledger.trouble(f"{kind}: {response.status_code}{code}")
        if response.status_code == 500 or (response.status_code > 500 and WORDS not in text):
            self.ledger.unexplained.append(f"{kind} {response.status_code}: {text[:300]}")


async def visit(
    door: Door,
    ledger: Ledger,
    *,
    people: int,
    seconds: float,
    models: list[str] | None = None,
    meanwhile: Callable[[], None] | None = None,
    after: float = 0.0,
) -> float:
    """Let so many people play for so long. After `after` seconds do `meanwhile` (in a thread), and then let them play
    for `seconds` more. Returns when, in the ledger's time, that had been done."""
    tls = ssl.create_default_context()
    over = asyncio.Event()
    visitors = [Visitor(door, account, ledger, tls, models or []) for account in door.accounts[1 : people + 1]]
    playing = [asyncio.create_task(visitor.stay(over.is_set)) for visitor in visitors]
    if meanwhile:
        await asyncio.sleep(after)
        await asyncio.to_thread(meanwhile)
    moment = ledger.now
    await asyncio.wait(playing, timeout=seconds)
    over.set()
    await asyncio.gather(*playing)
    return moment
