"""Every read of providers that is more than a get."""

import logging
import math
from dataclasses import replace

import msgspec
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db.models import QuerySet

from providers.adapters.base import Limits, ProviderError, Quirks, Sampling, Target, Timeouts
from providers.discovery import Discovery
from providers.engines.vllm import LOOPBACK
from providers.keys import key_of
from providers.limits.policy import WINDOW_START, State
from providers.limits.shared import gate
from providers.models import Endpoint, LanguageModel
from providers.validators import address_rule

log = logging.getLogger(__name__)


def target_for(model: LanguageModel) -> Target:
    """Everything that is needed to ask this model; its endpoint should be loaded.

    A pasted key that cannot be decrypted is left out, and the log says so: the endpoint then refuses the request, which
    ends as every refusal does.
    """
    assert model.endpoint is not None, "an imported model is never asked"
    target = target_of(model.endpoint)
    quirks = msgspec.convert(model.endpoint.quirks | model.quirks, Quirks)
    return replace(
        target,
        upstream_id=model.upstream_id,
        limits=replace(target.limits, model=model.upstream_id, model_requests_per_minute=quirks.requests_per_minute),
        system_prompt=model.system_prompt,
        sampling=Sampling(temperature=model.temperature, top_p=model.top_p, max_tokens=model.max_tokens),
        input_price=None if model.input_price is None else float(model.input_price),
        output_price=None if model.output_price is None else float(model.output_price),
        quirks=quirks,
        context_window=model.context_window,
    )


def target_of(endpoint: Endpoint) -> Target:
    """The endpoint itself, without a model. That of an engine that we started may be asked whatever the rule."""
    is_ours = bool(endpoint.engine_state) and endpoint.base_url.startswith(f"http://{LOOPBACK}:")
    return Target(
        kind=endpoint.kind,
        base_url=endpoint.base_url,
        upstream_id="",
        api_key=_key(endpoint),
        timeouts=Timeouts(
            connect=endpoint.connect_timeout,
            first_token=endpoint.first_token_timeout,
            idle=endpoint.idle_timeout,
            total=endpoint.total_timeout,
        ),
        limits=Limits(
            key=endpoint.slug,
            requests_per_minute=endpoint.requests_per_minute,
            tokens_per_minute=endpoint.tokens_per_minute,
            streams=endpoint.max_streams,
        ),
        quirks=msgspec.convert(endpoint.quirks, Quirks),
        addresses="allow" if is_ours else address_rule(endpoint.base_url),
        engine=endpoint.slug if endpoint.engine_state else "",
    )


def key_variables() -> set[str]:
    """The environment variables that hold endpoints' keys."""
    return set(Endpoint.objects.exclude(api_key_variable="").values_list("api_key_variable", flat=True))


def limits_now(endpoint: Endpoint) -> dict[str, int]:
    """What goes on at an endpoint: `streams` of `places` taken, `waiting` in this process, `paused` seconds. Without
    Redis all of it is about this process only."""

    def look(state: State, now: float) -> dict[str, int]:
        sizes = [window.size for window in state.windows.values()] or [WINDOW_START]
        blocked = max((window.blocked_until for window in state.windows.values()), default=0.0)
        found = int(min(sum(sizes), math.inf if limits.streams is None else limits.streams))
        streams = sum(lease.until >= now for lease in state.leases.values())
        return {"streams": streams, "places": found, "paused": max(0, math.ceil(blocked - now))}

    limits = target_of(endpoint).limits
    return async_to_sync(gate().store.change)(endpoint.slug, look) | {"waiting": gate().waiting(endpoint.slug)}


def _key(endpoint: Endpoint) -> str:
    try:
        return key_of(endpoint)
    except ProviderError as error:
        log.error("Endpoint %s: %s", endpoint.slug, error.detail)
        return ""


def models_listed() -> QuerySet[LanguageModel]:
    """The catalogue as everybody may see it."""
    return LanguageModel.objects.active().select_related("endpoint")


def discoveries() -> list[Discovery]:
    """What was found at hand when it was last looked for; nothing where nobody looked, or the file is broken."""
    try:
        return msgspec.json.decode((settings.VAR / "discovery.json").read_bytes(), type=list[Discovery])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
