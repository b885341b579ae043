"""The fake upstream on the other wires: requests are read as OpenAI's, and what a script writes is put into the words
of Anthropic or Gemini, failures included."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.fakes.scripts import SECRETS, Call, Request

JSON = dict[str, Any]
GEMINI_PATH = re.compile(r"/v1beta/models/([^/:]+):streamGenerateContent\?alt=sse")


class Refusal(Exception):
    """A request that the real service would not take; with its status line."""


def asked(path: str, headers: dict[str, str], body: JSON) -> tuple[str, JSON]:
    """The wire on which somebody asks, and the body as OpenAI's wire has it. Raises Refusal."""
    if path == "/v1/messages":
        if "anthropic-version" not in headers or "max_tokens" not in body:
            raise Refusal("400 Bad Request")
        if "x-api-key" not in headers:
            raise Refusal("401 Unauthorized")
        system = [{"role": "system", "content": body["system"]}] if "system" in body else []
        messages = [{"role": m["role"], "content": _content(m["content"])} for m in body["messages"]]
        return "anthropic", {**body, "messages": system + messages}
    if found := GEMINI_PATH.fullmatch(path):
        if "x-goog-api-key" not in headers:
            raise Refusal("403 Forbidden")
        system = (
            [{"role": "system", "content": _content(body["systemInstruction"]["parts"])}]
            if ("systemInstruction" in body)
            else []
        )
        roles = {"user": "user", "model": "assistant"}
        messages = [{"role": roles[c["role"]], "content": _content(c["parts"])} for c in body["contents"]]
        return "gemini", {"model": unquote(found[1]), "messages": system + messages, **body.get("generationConfig", {})}
    if path == "/v1/chat/completions":
        return "openai", body
    raise Refusal("404 Not Found")


def _content(content: str | list[JSON]) -> str | list[JSON]:
    """A message as OpenAI's wire has it: text, or parts where there are pictures."""
    if isinstance(content, str):
        return content
    parts: list[JSON] = []
    for part in content:
        if picture := part.get("source") or part.get("inlineData"):
            kind = picture.get("media_type") or picture["mimeType"]
            parts.append({"type": "image_url", "image_url": {"url": f"data:{kind};base64,{picture['data']}"}})
        else:
            parts.append({"type": "text", "text": part["text"]})
    return parts if any("image_url" in part for part in parts) else "".join(part["text"] for part in parts)


def call_for(wire: str, call: Call) -> Call:
    """The call as a script is to see it, which always writes OpenAI's words."""
    if wire == "openai":
        return call
    return Translated(call.request, call.send, call.reset, TELLERS[wire](call.request))


class Teller:
    """Says on another wire what OpenAI's chunks say."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.tokens = 0

    def opening(self) -> bytes:
        return b""

    def chunk(self, delta: JSON, finish: str | None) -> bytes:
        raise NotImplementedError

    def closing(self) -> bytes:
        return b""

    def error(self, status: int, message: str, retry_after: str) -> JSON:
        raise NotImplementedError

    def headers(self, retry_after: str) -> dict[str, str]:
        return {}

    def failure(self, message: str) -> bytes:
        """An error in the middle of a stream."""
        raise NotImplementedError


class Anthropic(Teller):
    ERRORS = {
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
    }
    ERRORS |= {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.block, self.blocks = "", -1

    def opening(self) -> bytes:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": f"{SECRETS[0]}/{self.request.model}",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 9, "output_tokens": 1},
        }
        return _event("message_start", message=message) + _event("ping")

    def chunk(self, delta: JSON, finish: str | None) -> bytes:
        said = b""
        for theirs, kind, name in (("reasoning_content", "thinking", "thinking"), ("content", "text", "text")):
            if text := delta.get(theirs):
                said += self._turn_to(kind)
                said += _event("content_block_delta", index=self.blocks, delta={"type": f"{kind}_delta", name: text})
                self.tokens += 1
        if finish:
            reason = {"stop": "end_turn", "length": "max_tokens"}.get(finish, finish)
            said += self._turn_to("")
            delta = {"stop_reason": reason, "stop_sequence": None}
            said += _event("message_delta", delta=delta, usage={"output_tokens": self.tokens})
        return said

    def _turn_to(self, kind: str) -> bytes:
        """Close the open block and open one of this kind, where it is not open already."""
        if kind == self.block:
            return b""
        said = b""
        if self.block == "thinking":
            signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
            said += _event("content_block_delta", index=self.blocks, delta=signature)
        if self.block:
            said += _event("content_block_stop", index=self.blocks)
        self.block = kind
        if kind:
            self.blocks += 1
            said += _event("content_block_start", index=self.blocks, content_block={"type": kind, kind: ""})
        return said

    def closing(self) -> bytes:
        return _event("message_stop")

    def error(self, status: int, message: str, retry_after: str) -> JSON:
        kind = self.ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def headers(self, retry_after: str) -> dict[str, str]:
        limits = {"anthropic_ratelimit_requests_remaining": "49", "anthropic_ratelimit_tokens_remaining": "9000"}
        return {"request_id": "req_1", **limits} | ({"Retry_After": retry_after} if retry_after else {})

    def failure(self, message: str) -> bytes:
        return _event("error", error={"type": "overloaded_error", "message": message})


class Gemini(Teller):
    STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}

    def chunk(self, delta: JSON, finish: str | None) -> bytes:
        parts: list[JSON] = []
        if thought := delta.get("reasoning_content"):
            parts.append({"text": thought, "thought": True})
        if text := delta.get("content"):
            parts.append({"text": text})
        if not parts and not finish:
            return b""
        self.tokens += len(parts)
        candidate: JSON = {"content": {"parts": parts or [{"text": ""}], "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = {"stop": "STOP", "length": "MAX_TOKENS"}.get(finish, "OTHER")
        used = {"promptTokenCount": 9, "candidatesTokenCount": self.tokens, "totalTokenCount": self.tokens + 9}
        return _data(
            {
                "candidates": [candidate],
                "usageMetadata": used,
                "modelVersion": f"{SECRETS[0]}/{self.request.model}",
                "responseId": "r1",
            }
        )

    def error(self, status: int, message: str, retry_after: str) -> JSON:
        details: list[JSON] = [{"@type": "type.googleapis.com/google.rpc.Help", "links": [{"description": "x" * 3000}]}]
        if retry_after:
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after}s"}
            details.append(retry)
        code = self.STATUS.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": code, "details": details}}

    def failure(self, message: str) -> bytes:
        return _data(self.error(503, message, ""))


TELLERS: dict[str, Callable[[Request], Teller]] = {"anthropic": Anthropic, "gemini": Gemini}


@dataclass(frozen=True)
class Translated(Call):
    """Takes OpenAI's words from a script and sends another wire's. What is no event of OpenAI's goes on as it is."""

    teller: Teller
    state: JSON = field(default_factory=lambda: {"kind": "", "status": 200, "retry_after": "", "rest": b""})

    async def begin(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        retry_after = headers.pop("Retry_After", "")
        self.state.update(kind=kind, status=int(status.split()[0]), retry_after=retry_after)
        await super().begin(status, kind, **headers, **self.teller.headers(retry_after))
        if "event-stream" in kind and (opening := self.teller.opening()):
            await super().write(opening)

    async def write(self, data: bytes) -> None:
        if "event-stream" not in self.state["kind"]:
            await super().write(self._error(data))
            return
        *whole, self.state["rest"] = (self.state["rest"] + data).split(b"\n\n")
        for event in whole:
            said = self._told(event)
            # As finely as the script cuts its own.
            size = 1 if len(data) == 1 else len(said) or 1
            for start in range(0, len(said), size):
                await super().write(said[start : start + size])

    async def end(self) -> None:
        if self.state["rest"]:
            await super().write(self.state["rest"])
        await super().end()

    def _error(self, body: bytes) -> bytes:
        try:
            message = json.loads(body)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            return body
        return json.dumps(self.teller.error(self.state["status"], message, self.state["retry_after"])).encode()

    def _told(self, event: bytes) -> bytes:
        if event == b"data: [DONE]":
            return self.teller.closing()
        try:
            chunk = json.loads(event.removeprefix(b"data: "))
        except ValueError:
            return event + b"\n\n"
        if "error" in chunk:
            return self.teller.failure(chunk["error"]["message"])
        return b"".join(self.teller.chunk(choice["delta"], choice["finish_reason"]) for choice in chunk["choices"])


def _event(type: str, **content: Any) -> bytes:
    return b"event: " + type.encode() + b"\ndata: " + json.dumps({"type": type, **content}).encode() + b"\n\n"


def _data(content: JSON) -> bytes:
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\r\n\r\n"


def model_lists(names: list[str]) -> dict[str, JSON]:
    """What GET answers: OpenAI's list serves Anthropic, too."""
    return {
        "/v1/models": {
            "object": "list",
            "data": [{"id": name, "object": "model"} for name in names],
            "has_more": False,
        },
        "/v1beta/models": {"models": [{"name": f"models/{name}"} for name in names]},
    }
