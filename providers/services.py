"""Every write of providers."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from common.rows import Problems, Report
from common.yaml_lines import Located, read
from providers.catalogue import EndpointRow, endpoint_slug, endpoints_read, endpoints_store
from providers.discovery import Discovery, discover
from providers.engines.embedded import SLOT_TOKENS, SLOTS
from providers.keys import endpoint_key_set, keys_refresh
from providers.models import Endpoint, LanguageModel
from providers.upstream_models import UpstreamModel
from providers.usage import budget_check, endpoint_budget_refresh, generation_note, generations_note, models_try

__all__ = [
    "budget_check",
    "discoveries_update",
    "embedded_seed",
    "endpoint_budget_refresh",
    "endpoint_key_set",
    "endpoint_reachability_set",
    "generation_note",
    "generations_note",
    "keys_refresh",
    "models_try",
    "presets_seed",
]  # fmt: skip

PRESETS = Path(__file__).with_name("presets.yaml")
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


@transaction.atomic
def models_import(*, endpoint: Endpoint, models: Sequence[UpstreamModel]) -> int:
    """Add models that the endpoint offers, hidden ones and prices included as it says; return how many. Those that
    are in the catalogue already stay as they are."""
    there = set(endpoint.language_models.values_list("upstream_id", flat=True))
    slugs = set(LanguageModel.objects.values_list("slug", flat=True))
    names = set(LanguageModel.objects.values_list("name", flat=True))
    new = []
    for model in models:
        if model.id in there:
            continue
        name = model.name or model.id.rpartition("/")[2]
        row = LanguageModel(
            endpoint=endpoint,
            slug=free(slugify(model.id.replace("/", "-").replace(".", "-").replace(":", "-")) or "model", slugs),
            name=free(name, names, f", {endpoint.name}"),
            upstream_id=model.id,
            context_window=model.context_window,
            input_price=model.input_price,
            output_price=model.output_price,
            sees_images=bool(model.sees_images),
        )
        row.full_clean()
        new.append(row)
    return len(LanguageModel.objects.bulk_create(new))


def free(wanted: str, taken: set[str], ending: str = "") -> str:
    """`wanted`, or with `ending` or a number behind it where that is taken; counts as taken from now on."""
    numbered = (f"{wanted[:80]}-{number}" for number in count(2))
    found = next(one for one in chain([wanted[:90]], [wanted[:60] + ending[:35]], numbered) if one not in taken)
    taken.add(found)
    return found


def discoveries_update() -> list[Discovery]:
    """Look for models that are at hand already, and keep what was found for the pages."""
    found = discover(own_ports={settings.PORT, settings.EMBEDDED_PORT})
    path = settings.VAR / "discovery.json"
    draft = path.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode(found))
    draft.replace(path)
    return found


@transaction.atomic
def presets_seed() -> int:
    """Add the ready entries whose endpoint is not there yet, and note which endpoints have a key now; return how many
    endpoints were added. Those that are there stay as an operator left them, and those whose address the operator
    forbids are left out."""
    there = set(Endpoint.objects.values_list("slug", flat=True))
    slugs = set(LanguageModel.objects.values_list("slug", flat=True))
    names = set(LanguageModel.objects.values_list("name", flat=True))
    ready = read(PRESETS.read_text(encoding="utf-8")).value["endpoints"].value
    # One by one, and only those that are new: to check an address may mean to ask for what its name stands for.
    new: list[EndpointRow] = []
    for entry in ready:
        problems = Problems()
        if endpoint_slug(entry) not in there:
            rows = endpoints_read(Located([entry], entry.line), problems)
            new += [] if problems else rows
    fresh = [
        replace(row, models=tuple(m for m in row.models if m.values["slug"] not in slugs and m.name not in names))
        for row in new
    ]
    endpoints_store(fresh, Report())
    return len(new)


@transaction.atomic
def embedded_seed() -> int:
    """Make the embedded endpoint and its models where they are missing; return how many models were added.

    What an operator changed stays; only the address follows EMBEDDED_PORT.
    """
    base_url = f"http://127.0.0.1:{settings.EMBEDDED_PORT}/v1"
    endpoint, is_new = Endpoint.objects.get_or_create(
        slug=EMBEDDED_SLUG,
        defaults={
            "name": "Embedded engine",
            "base_url": base_url,
            "is_reachable": False,
            "first_token_timeout": 120,
            "max_streams": SLOTS,
        },
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
