"""Every write of providers."""

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from providers.discovery import Discovery, discover
from providers.engines.embedded import SLOT_TOKENS
from providers.models import Endpoint, LanguageModel

EMBEDDED_SLUG = "embedded"
EMBEDDED_UPSTREAM_ID = "smollm2-135m-instruct"
# Three contenders from one file: the model, the model with a brief, and the model with a fever.
EMBEDDED_MODELS: tuple[dict[str, object], ...] = (
    {"slug": "smollm2-135m", "name": "SmolLM2 135M"},
    {
        "slug": "smollm2-135m-brief",
        "name": "SmolLM2 135M, brief",
        "system_prompt": "Answer in one or two short sentences.",
    },
    {"slug": "smollm2-135m-hot", "name": "SmolLM2 135M, hot", "temperature": 1.3},
)


def endpoint_reachability_set(*, slug: str, reachable: bool) -> None:
    """Note whether an endpoint answers; models of one that does not are not drawn. An unknown slug is no error."""
    Endpoint.objects.filter(slug=slug).update(is_reachable=reachable, checked_at=timezone.now())


def discoveries_update() -> list[Discovery]:
    """Look for models that are at hand already, and keep what was found for the pages."""
    found = discover(own_ports={settings.PORT, settings.EMBEDDED_PORT})
    path = settings.VAR / "discovery.json"
    draft = path.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode(found))
    draft.replace(path)
    return found


@transaction.atomic
def embedded_seed() -> int:
    """Make the embedded endpoint and its models where they are missing; return how many models were added.

    What an operator changed stays; only the address follows EMBEDDED_PORT.
    """
    base_url = f"http://127.0.0.1:{settings.EMBEDDED_PORT}/v1"
    endpoint, is_new = Endpoint.objects.get_or_create(
        slug=EMBEDDED_SLUG,
        defaults={"name": "Embedded engine", "base_url": base_url, "is_reachable": False, "first_token_timeout": 120},
    )
    if endpoint.base_url != base_url:
        endpoint.base_url = base_url
        endpoint.save(update_fields=["base_url"])
    if not is_new:
        return 0
    shared = {
        "endpoint": endpoint,
        "upstream_id": EMBEDDED_UPSTREAM_ID,
        "organisation": "Hugging Face",
        "licence": "Apache-2.0",
        "url": "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        "context_window": SLOT_TOKENS,
        "max_tokens": 512,
    }
    return len(LanguageModel.objects.bulk_create(LanguageModel(**shared | model) for model in EMBEDDED_MODELS))
