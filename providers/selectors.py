"""Every read of providers that is more than a get."""

import os

import msgspec
from django.conf import settings
from django.db.models import QuerySet

from providers.adapters.base import Sampling, Target, Timeouts
from providers.discovery import Discovery
from providers.models import LanguageModel


def target_for(model: LanguageModel) -> Target:
    """Everything that is needed to ask this model; its endpoint should be loaded. The key comes from the environment
    variable that the endpoint names."""
    endpoint = model.endpoint
    return Target(
        kind=endpoint.kind,
        base_url=endpoint.base_url,
        upstream_id=model.upstream_id,
        # Stripped, because a key that was read from a file often ends with a line feed.
        api_key=os.environ.get(endpoint.api_key_variable, "").strip() if endpoint.api_key_variable else "",
        system_prompt=model.system_prompt,
        sampling=Sampling(temperature=model.temperature, top_p=model.top_p, max_tokens=model.max_tokens),
        timeouts=Timeouts(
            connect=endpoint.connect_timeout,
            first_token=endpoint.first_token_timeout,
            idle=endpoint.idle_timeout,
            total=endpoint.total_timeout,
        ),
        input_price=None if model.input_price is None else float(model.input_price),
        output_price=None if model.output_price is None else float(model.output_price),
    )


def models_listed() -> QuerySet[LanguageModel]:
    """The catalogue as everybody may see it."""
    return LanguageModel.objects.active().select_related("endpoint")


def discoveries() -> list[Discovery]:
    """What was found at hand when it was last looked for; nothing where nobody looked, or the file is broken."""
    try:
        return msgspec.json.decode((settings.VAR / "discovery.json").read_bytes(), type=list[Discovery])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
