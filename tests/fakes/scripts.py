"""What the fake upstream does, by the name of the model that is asked. A new behaviour is one line in SCRIPTS."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

# In every error and in every chunk: where a person who judges reads one of these, something has leaked.
SECRETS = ("Zebrafish-9000", "Quokka Cloud")

STEADY = """## Why the sky is blue

Sunlight is a mix of *all* colours. Air scatters **short** waves more:

- violet and blue go everywhere
- red goes straight on

| colour | nanometres |
| ------ | ---------- |
| blue   | 450        |
| red    | 700        |

```python
def scattered(nanometres: float) -> float:
    return nanometres ** -4
```

So the sky looks blue, and the setting sun red.
"""
OTHER = """### The short answer

Because of **Rayleigh scattering**: small molecules turn blue light aside more than red light.

1. Light comes in.
2. The air spreads its blue part.
3. You see blue wherever you look.

That is all there is to it.
"""
BYTES = "Grüße aus Zürich: 東京、ἀλήθεια, שלום, naïve café — 🦊👩‍👩‍👧‍👦 and 1 € for 𝄞.\n\nZweiter Absatz: øre, ½, ∑.\n"
HOSTILE = (
    """<script>window.broken = 1</script>

<img src=x onerror="window.broken = 2"> <svg onload="window.broken = 3"></svg> <iframe src="//tracker.invalid"></iframe>

[click me](javascript:window.broken=4) [and me](data:text/html,<script>window.broken=5</script>)
![track](https://tracker.invalid/pixel.gif) <style>body{display:none}</style> <base href="//tracker.invalid/">

**never *closed `markdown [with](half a link

"""
    + "endless" * 600
    + "\n\n```html\n</code></pre><script>window.broken = 6</script>\n"
)
PLAIN = "One short and honest answer. It has two sentences."


@dataclass(frozen=True)
class Request:
    """What was asked. `repeat` says how often this model got the same last message before."""

    model: str
    messages: list[dict[str, Any]]
    sampling: dict[str, Any]
    repeat: int
    headers: dict[str, str]
    path: str = ""


Send = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True)
class Call:
    """One request that is being answered: `send` writes raw bytes, `reset` tears the connection down."""

    request: Request
    send: Send
    reset: Callable[[], None]

    async def begin(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{more}\r\n"
        await self.send(head.encode())

    async def write(self, data: bytes) -> None:
        """A piece of the body."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")


class Script(Protocol):
    async def play(self, call: Call) -> None: ...


def chunk(request: Request, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": f"{SECRETS[0]}/{request.model}",
        "system_fingerprint": SECRETS[1],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def error_body(request: Request, words: str = "could not answer") -> dict[str, Any]:
    message = f"{SECRETS[0]} at {SECRETS[1]} {words} for {request.model}"
    return {"error": {"message": message, "type": "server_error", "code": None}}


def tokens(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


@dataclass(frozen=True)
class Answer:
    """A stream of tokens. `limit` ends it after so many; `ending` says how: finish, finish-reset (a
    finish_reason, then the connection breaks), done (only [DONE]), cut (neither),
    reset (the connection breaks), silence (nothing more comes), error (an error event)."""

    text: str
    seconds_a_token: float = 0.005
    reasoning: str = ""
    limit: int | None = None
    ending: str = "finish"
    piece_bytes: int | None = None
    reason: str = "stop"

    async def play(self, call: Call) -> None:
        await call.begin()
        request, count = call.request, 0
        await self._write(call, event(chunk(request, {"role": "assistant", "content": ""})))
        for name, text in (("reasoning_content", self.reasoning), ("content", self.text)):
            for token in tokens(text)[: self.limit]:
                await self._write(call, event(chunk(request, {name: token})))
                count += 1
                await asyncio.sleep(self.seconds_a_token)
        match self.ending:
            case "finish":
                usage = {"prompt_tokens": 9, "completion_tokens": count, "total_tokens": count + 9}
                await self._write(call, event(chunk(request, {}, self.reason)))
                await self._write(call, event(chunk(request, {}) | {"choices": [], "usage": usage}))
                await self._write(call, b"data: [DONE]\n\n")
            case "done":
                await self._write(call, b"data: [DONE]\n\n")
            case "error":
                await self._write(call, event(error_body(request, "broke half-way")))
            case "reset":
                call.reset()
                return
            case "finish-reset":
                await self._write(call, event(chunk(request, {}, "stop")))
                await asyncio.sleep(0.05)
                call.reset()
                return
            case "silence":
                await asyncio.Event().wait()
        await call.end()

    async def _write(self, call: Call, data: bytes) -> None:
        size = self.piece_bytes or len(data)
        for start in range(0, len(data), size):
            await call.write(data[start : start + size])
            if self.piece_bytes:
                await asyncio.sleep(0)  # each piece is a packet of its own


@dataclass(frozen=True)
class Failure:
    """An HTTP error. `every` n-th request of the same last message is answered all the same."""

    status: str
    words: str = "could not answer"
    retry_after: str = ""
    every: int | None = None

    async def play(self, call: Call) -> None:
        if self.every and call.request.repeat % self.every == self.every - 1:
            await Answer(PLAIN).play(call)
            return
        headers = {"Retry_After": self.retry_after} if self.retry_after else {}
        await call.begin(self.status, "application/json", **headers)
        await call.write(json.dumps(error_body(call.request, self.words)).encode())
        await call.end()


@dataclass(frozen=True)
class Once:
    """Answers the first request of each last message, and refuses every further one."""

    async def play(self, call: Call) -> None:
        if call.request.repeat:
            await Failure("400 Bad Request", "has said it already").play(call)
        else:
            await Answer(PLAIN).play(call)


@dataclass(frozen=True)
class NoSchema:
    """Refuses to be held to a schema; without one it answers within a fence, as many models do."""

    text: str

    async def play(self, call: Call) -> None:
        if "response_format" in call.request.sampling:
            await Failure("400 Bad Request", "knows no response_format").play(call)
        else:
            await Answer(f"Here it is:\n\n```json\n{self.text}\n```\n").play(call)


@dataclass(frozen=True)
class Raw:
    """A body as it is, with status 200."""

    body: bytes
    kind: str = "text/event-stream"

    async def play(self, call: Call) -> None:
        await call.begin(kind=self.kind)
        await call.write(self.body)
        await call.end()


@dataclass(frozen=True)
class Silent:
    """Takes the request and never answers; `with_head` sends the status line first."""

    with_head: bool = False

    async def play(self, call: Call) -> None:
        if self.with_head:
            await call.begin()
        await asyncio.Event().wait()


class Held:
    """Answers a prompt once the test lets it: `release`."""

    def __init__(self) -> None:
        self._released: set[str] = set()

    def release(self, prompt: str) -> None:
        self._released.add(prompt)

    async def play(self, call: Call) -> None:
        while call.request.messages[-1]["content"] not in self._released:  # noqa: ASYNC110 set in another thread
            await asyncio.sleep(0.01)
        await Answer(PLAIN, seconds_a_token=0).play(call)


@dataclass(frozen=True)
class Echo:
    """Answers with the messages that it got, as JSON."""

    async def play(self, call: Call) -> None:
        await Answer(json.dumps(call.request.messages), seconds_a_token=0).play(call)


@dataclass(frozen=True)
class Eyes:
    """Answers with how many images it got in each message of the user, and of which types: "2 images: png, jpeg"."""

    async def play(self, call: Call) -> None:
        said = [self._seen(message["content"]) for message in call.request.messages if message["role"] == "user"]
        await Answer(". ".join(said) + ".", seconds_a_token=0.01).play(call)

    def _seen(self, content: Any) -> str:
        parts = content if isinstance(content, list) else []
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        kinds = [kind[1] for url in urls if (kind := re.match(r"data:image/(\w+);base64,[\w+/]+=*$", url))]
        return f"{len(urls)} images: {', '.join(kinds)}"


KEEPALIVE = (
    b": hello\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\n"
    b'data: {"choices":[{"index":0,"delta":{"content":"One "}}]}\r\n\r\n: ping\r\n\r\n'
    b'data:{"choices":[{"index":0,"delta":{"content":"two"}}]}\r\n\r\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\r\n\r\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\r\n\r\ndata: [DONE]\r\n\r\n'
)

READING = """{"summary": "They talk about the sky.", "topics": ["sky", "light"], "led": "b", "led_why": "B asks more.",
"agreements": ["The sky is blue."], "conflicts": [], "tone_a": "Dry.", "tone_b": "Warm.", "role_confusion":
[{"turn": 2, "what": "B offers to assist."}], "repetition": "Little.", "moments": [{"turn": 1, "what": "A begins."}],
"rubric": "Both were kind."}"""

HELD = Held()

SCRIPTS: dict[str, Script] = {
    "steady": Answer(STEADY),
    "other": Answer(OTHER),
    "slow-markdown": Answer(STEADY, seconds_a_token=0.05),
    "slow": Answer((OTHER * 4), seconds_a_token=0.05, limit=120),
    "thinker": Answer(PLAIN, reasoning="Let me think. Blue light is scattered more.", seconds_a_token=0.02),
    "bytes": Answer(BYTES, seconds_a_token=0, piece_bytes=1),
    "hostile": Answer(HOSTILE, seconds_a_token=0.002),
    "stall-before": Silent(with_head=True),
    "stall-after": Answer(STEADY, limit=3, ending="silence"),
    "dies": Answer(STEADY, limit=30, ending="reset"),
    "refuses-401": Failure("401 Unauthorized", "does not know this key"),
    "refuses-first": Failure("401 Unauthorized", "does not know this key"),
    "missing-404": Failure("404 Not Found", "has no such model"),
    "busy-429": Failure("429 Too Many Requests", "is busy", retry_after="0.05", every=3),
    "always-429": Failure("429 Too Many Requests", "is busy", retry_after="0.05"),
    "overloaded-529": Failure("529 Overloaded", "is overloaded", retry_after="0.05"),
    "broken-500": Failure("500 Internal Server Error", "fell over"),
    "too-long-400": Failure("400 Bad Request", "exceeded the context length"),
    "filtered-400": Failure("400 Bad Request", "has a content policy"),
    "fails-once": Failure("400 Bad Request", "did not like it", every=2),
    "answers-once": Once(),
    "html": Raw(b"<!doctype html><title>Zebrafish-9000 at Quokka Cloud</title><p>Please log in.", "text/html"),
    "rubbish": Raw(b"data: Zebrafish-9000 at Quokka Cloud says moo\n\n"),
    "error-in-stream": Answer(STEADY, limit=5, ending="error"),
    "dies-after-finish": Answer(PLAIN, ending="finish-reset"),
    "no-finish": Answer(PLAIN, ending="done"),
    "cut": Answer(PLAIN, ending="cut"),
    "empty": Answer(""),
    "keepalive": Raw(KEEPALIVE),
    "silent": Silent(),
    "echo": Echo(),
    "eyes": Eyes(),
    "reader": Answer(READING),
    "grades": Answer("It says what was asked. Rating: [[7]]"),
    "no-schema": NoSchema(READING),
    "held": HELD,
    "held-too": HELD,
}
