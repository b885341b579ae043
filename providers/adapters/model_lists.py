"""What an endpoint says about the models that it offers, in the dialects of all wires.

Sources: https://platform.openai.com/docs/api-reference/models, https://openrouter.ai/docs/api-reference/models,
https://docs.anthropic.com/en/api/models-list, https://ai.google.dev/api/models
"""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from providers.adapters import anthropic, gemini, http
from providers.adapters.base import ErrorKind, ProviderError, Target

LIST_SECONDS = 15.0
LIST_MAX_BYTES = 20_000_000  # OpenRouter's list, the longest known, has about one
PAGES_MAX = 20
PAGE_MODELS = 1000
TOKENS_A_PRICE = 1_000_000
NAME_MAX_CHARACTERS = 200
# Together's and Mistral's words for models that write no text.
OTHER_TYPES = ("image", "embedding", "rerank", "moderation", "audio", "transcribe", "video")


@dataclass(frozen=True, slots=True)
class UpstreamModel:
    """A model as its endpoint describes it; None where it does not say. Prices in US dollars a million tokens."""

    id: str
    name: str
    context_window: int | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    sees_images: bool | None = None


class NoList(ProviderError):
    """Something answered, but not with a list of models. `status` is of HTTP; `moved_to` is where it sent us."""

    def __init__(self, error: ProviderError, status: int, *, is_page: bool = False, moved_to: str = "") -> None:
        super().__init__(error.kind, error.detail, retry_after=error.retry_after, request_id=error.request_id)
        self.status = status
        self.is_page = is_page
        self.moved_to = moved_to


class _Pricing(msgspec.Struct):
    prompt: Any = None  # OpenRouter: US dollars a token
    completion: Any = None
    input: Any = None  # Together: US dollars a million tokens
    output: Any = None


class _Architecture(msgspec.Struct):
    input_modalities: list[str] | None = None


class _Support(msgspec.Struct):
    supported: bool | None = None


class _Capabilities(msgspec.Struct):
    vision: bool | None = None  # Mistral
    image_input: _Support | None = None  # Anthropic


class _Meta(msgspec.Struct):
    n_ctx_train: int | None = None


class _Model(msgspec.Struct):
    """An entry of OpenAI's or Anthropic's list; which service sends a field is said where it is not all."""

    id: str
    name: str | None = None
    display_name: str | None = None
    type: str | None = None  # Together: chat, image, embedding ...
    max_model_len: int | None = None  # vLLM
    context_length: int | None = None  # OpenRouter, Together
    context_window: int | None = None  # Groq
    max_context_length: int | None = None  # Mistral
    max_input_tokens: int | None = None  # Anthropic
    meta: _Meta | None = None  # llama.cpp
    pricing: _Pricing | None = None
    architecture: _Architecture | None = None
    capabilities: _Capabilities | None = None


class _Page(msgspec.Struct):
    data: list[_Model]
    has_more: bool = False
    last_id: str | None = None


class _GeminiModel(msgspec.Struct, rename="camel"):
    name: str
    display_name: str | None = None
    input_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None


class _GeminiPage(msgspec.Struct, rename="camel"):
    models: list[_GeminiModel] = []
    next_page_token: str | None = None


async def models_of(target: Target) -> list[UpstreamModel]:
    """All models that the endpoint offers for writing text, in its own order. `target` needs no upstream id.

    Raises ProviderError, and NoList of it where something else answered.
    """
    http.check_key(target)
    found: dict[str, UpstreamModel] = {}
    # With a client of its own: who asks is often a loop that ends right after.
    client = http.new_client(target)
    try:
        async with asyncio.timeout(LIST_SECONDS), client:
            following: str | None = ""
            for _ in range(PAGES_MAX):
                page, following = await _page(client, target, following or "")
                found |= {model.id: model for model in page if model.id.isprintable() and model.id}
                if not following:
                    break
    except TimeoutError as error:
        raise ProviderError(ErrorKind.TIMEOUT, f"no list of models within {LIST_SECONDS:g} s") from error
    return list(found.values())


async def _page(client: httpx2.AsyncClient, target: Target, after: str) -> tuple[list[UpstreamModel], str | None]:
    """One page of the list, and what to ask the next one with."""
    match target.kind:
        case "anthropic":
            path = f"/models?limit={PAGE_MODELS}" + (f"&after_id={quote(after, safe='')}" if after else "")
            page = _decoded(await _get(client, target, path, anthropic.headers(target)), _Page)
            return [_described(model) for model in page.data], page.last_id if page.has_more else None
        case "gemini":
            path = f"/models?pageSize={PAGE_MODELS}" + (f"&pageToken={quote(after, safe='')}" if after else "")
            answer = _decoded(await _get(client, target, path, gemini.headers(target)), _GeminiPage)
            return [_gemini(model) for model in answer.models if _writes(model)], answer.next_page_token
        case _:
            headers = {"authorization": f"Bearer {target.api_key}"} if target.api_key else {}
            body = await _get(client, target, "/models", headers)
            listed = _decoded(body, _Page | list[_Model])  # Together sends the bare list
            models = listed.data if isinstance(listed, _Page) else listed
            return [_described(model) for model in models if model.type not in OTHER_TYPES], None


async def _get(client: httpx2.AsyncClient, target: Target, path: str, headers: Mapping[str, str]) -> bytes:
    with http.translated():
        request = client.build_request(
            "GET",
            target.base_url.rstrip("/") + path,
            headers={"accept": "application/json", **headers} | target.quirks.extra_headers,
        )
        response = await client.send(request, stream=True)
        async with aclosing(response):
            kind = response.headers.get("content-type", "")
            if response.status_code != 200:
                error = http.status_error(response.status_code, await http.beginning(response), response.headers)
                moved_to = response.headers.get("location", "") if response.is_redirect else ""
                raise NoList(error, response.status_code, is_page="html" in kind, moved_to=moved_to[:200])
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > LIST_MAX_BYTES:
                    raise NoList(ProviderError(ErrorKind.UPSTREAM, f"a list of more than {LIST_MAX_BYTES} bytes"), 200)
            return bytes(body)


def _decoded(body: bytes, type: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        words = body[:200].decode(errors="replace")
        is_page = words.lstrip().lower().startswith(("<!doctype", "<html"))
        raise NoList(ProviderError(ErrorKind.UPSTREAM, f"not a list: {words}"), 200, is_page=is_page) from error


def _described(model: _Model) -> UpstreamModel:
    windows = (
        model.max_model_len,
        model.context_length,
        model.context_window,
        model.max_context_length,
        model.max_input_tokens,
        model.meta and model.meta.n_ctx_train,
    )
    prices = model.pricing or _Pricing()
    return UpstreamModel(
        id=model.id[:NAME_MAX_CHARACTERS],
        name=(model.display_name or model.name or model.id)[:NAME_MAX_CHARACTERS],
        context_window=next((window for window in windows if window and window > 0), None),
        input_price=_price(prices.input) if prices.prompt is None else _price(prices.prompt, TOKENS_A_PRICE),
        output_price=_price(prices.output) if prices.completion is None else _price(prices.completion, TOKENS_A_PRICE),
        sees_images=_sees_images(model),
    )


def _sees_images(model: _Model) -> bool | None:
    if model.architecture and model.architecture.input_modalities is not None:
        return "image" in model.architecture.input_modalities
    if not model.capabilities:
        return None
    return model.capabilities.image_input.supported if model.capabilities.image_input else model.capabilities.vision


def _price(said: object, times: int = 1) -> Decimal | None:
    """None also for what is below nothing: OpenRouter's -1 means that it depends."""
    if not isinstance(said, str | int | float) or isinstance(said, bool):
        return None
    try:
        price = Decimal(str(said)) * times
    except InvalidOperation:
        return None
    return price.normalize() + 0 if price.is_finite() and 0 <= price < 1_000_000 else None


def _writes(model: _GeminiModel) -> bool:
    methods = model.supported_generation_methods
    return methods is None or "generateContent" in methods


def _gemini(model: _GeminiModel) -> UpstreamModel:
    id = model.name.removeprefix("models/")[:NAME_MAX_CHARACTERS]
    return UpstreamModel(id, (model.display_name or id)[:NAME_MAX_CHARACTERS], model.input_token_limit)
