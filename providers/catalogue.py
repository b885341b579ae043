"""Endpoints and their models as a file: read, check, store, write down again. The format is in docs/catalogue.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Field, QuerySet
from django.utils.text import slugify

from common.rows import Problems, Report, check_keys, check_values, mappings, store
from common.yaml_lines import Located
from providers.keys import keys_refresh
from providers.models import Endpoint, LanguageModel

ENDPOINT_KEYS = (
    "slug", "name", "kind", "base_url", "api_key_variable", "needs_key", "quirks", "requests_per_minute",
    "tokens_per_minute", "max_streams", "monthly_budget", "cache_seconds", "connect_timeout", "first_token_timeout",
    "idle_timeout", "total_timeout", "is_enabled", "has_outage",
)  # fmt: skip
MODEL_KEYS = (
    "slug", "name", "upstream_id", "organisation", "licence", "url", "status", "is_reasoning", "sees_images", "tags",
    "size", "context_window", "input_price", "output_price", "system_prompt", "temperature", "top_p", "max_tokens",
    "quirks", "sampling_weight",
)  # fmt: skip
CURRENCY = "USD"


@dataclass(frozen=True, slots=True)
class EndpointRow:
    values: dict[str, Any]
    defaults: dict[str, Any]
    models: "tuple[ModelRow, ...]"


@dataclass(frozen=True, slots=True)
class ModelRow:
    values: dict[str, Any]
    defaults: dict[str, Any]
    line: int

    @property
    def name(self) -> str:
        """Its name if it is new."""
        return str(self.values.get("name", self.defaults["name"]))


def endpoints_read(section: Located, problems: Problems) -> list[EndpointRow]:
    """The rows of the section `endpoints`, with defaults filled in; what is wrong goes into `problems`."""
    rows: list[EndpointRow] = []
    slugs: dict[str, int] = {}
    for entry in mappings(section, "endpoints", problems):
        check_keys(entry, [*ENDPOINT_KEYS, "currency", "models"], problems)
        _check_currency(entry, problems)
        values = _values(entry, ENDPOINT_KEYS)
        values.setdefault("slug", endpoint_slug(entry))
        _need(entry, values, ("slug", "base_url"), problems)
        check_values(Endpoint, entry, _without_blank_slug(values), problems)
        _once(entry, f"endpoint {values['slug']}", slugs, problems)
        models = entry.value.get("models", Located([], entry.line))
        found = tuple(_model_read(model, slugs, problems) for model in mappings(models, "models", problems))
        rows.append(EndpointRow(values, {"name": values["slug"]}, found))
    return rows


def endpoint_slug(entry: Located) -> str:
    """By what an entry is known: its slug, else made from its name."""
    named = {key: str(value.value) for key, value in entry.value.items() if key in ("slug", "name")}
    return named.get("slug") or slugify(named.get("name", ""))


def _model_read(entry: Located, slugs: dict[str, int], problems: Problems) -> ModelRow:
    check_keys(entry, [*MODEL_KEYS, "currency"], problems)
    _check_currency(entry, problems)
    values = _values(entry, MODEL_KEYS)
    values.setdefault("slug", slugify(str(values.get("upstream_id", "")).replace("/", "-").replace(".", "-")))
    _need(entry, values, ("slug", "upstream_id"), problems)
    check_values(LanguageModel, entry, _without_blank_slug(values), problems)
    if values.get("status") == LanguageModel.Status.EXTERNAL:
        problems.add(entry, "status: external is for models that were imported with their votes.")
    _once(entry, f"model {values['slug']}", slugs, problems)
    return ModelRow(values, {"name": str(values.get("upstream_id", "")).rpartition("/")[2]}, entry.line)


def endpoints_check(rows: list[EndpointRow], problems: Problems) -> None:
    """What is wrong with them beside what is in the catalogue already."""
    there = {model.slug: model for model in LanguageModel.objects.only("slug", "name", "status")}
    names = {slug: model.name for slug, model in there.items()}
    models = [model for row in rows for model in row.models]
    for model in models:
        slug = model.values["slug"]
        names[slug] = model.values.get("name") or names.get(slug) or model.name
        if slug in there and there[slug].status == LanguageModel.Status.EXTERNAL:
            problems.add(
                model.line, f"model {slug} was imported with its votes, and cannot be asked; take another slug."
            )
    for model in models:
        slug = model.values["slug"]
        taken = next((other for other, name in names.items() if name == names[slug] and other != slug), None)
        if taken:
            problems.add(model.line, f"the name {names[slug]} is that of model {taken} already.")


def endpoints_store(rows: list[EndpointRow], report: Report) -> None:
    """Make or change them; inside the caller's transaction."""
    for row in rows:
        name = f"endpoint {row.values['slug']}"
        key = {"slug": row.values["slug"]}
        endpoint = store(Endpoint, key, row.values, name, report, defaults=row.defaults)
        for model in row.models:
            name = f"model {model.values['slug']}"
            key = {"slug": model.values["slug"]}
            values = {**model.values, "endpoint": endpoint}
            store(LanguageModel, key, values, name, report, defaults=model.defaults)
    keys_refresh()


def endpoints_dumped() -> list[dict[str, Any]]:
    """All endpoints with their models, without what is as it would be anyway. Never a key."""
    return [
        _dumped(endpoint, ENDPOINT_KEYS) | {"models": [_dumped(model, MODEL_KEYS) for model in _asked_models(endpoint)]}
        for endpoint in Endpoint.objects.order_by("slug")
    ]


def _asked_models(endpoint: Endpoint) -> "QuerySet[LanguageModel]":
    return endpoint.language_models.exclude(status=LanguageModel.Status.EXTERNAL).order_by("slug")


def _dumped(row: Endpoint | LanguageModel, keys: tuple[str, ...]) -> dict[str, Any]:
    always = ("slug", "name", "base_url", "upstream_id")
    found = {}
    for key in keys:
        column, value = row._meta.get_field(key), getattr(row, key)
        assert isinstance(column, Field)
        if key in always or value != column.get_default():
            found[key] = float(value) if isinstance(value, Decimal) else value
    return found


def _values(entry: Located, keys: tuple[str, ...]) -> dict[str, Any]:
    values = {key: entry.value[key].plain() for key in keys if key in entry.value}
    # A price or budget that is written as a number must not become 0.1500000000000000055.
    return {key: Decimal(str(value)) if _is_amount(key, value) else value for key, value in values.items()}


def _is_amount(key: str, value: Any) -> bool:
    return key in ("input_price", "output_price", "monthly_budget") and type(value) in (int, float)


def _need(entry: Located, values: Mapping[str, Any], names: tuple[str, ...], problems: Problems) -> None:
    for name in names:
        if not values.get(name):
            problems.add(entry, f"{name} is missing.")


def _without_blank_slug(values: dict[str, Any]) -> dict[str, Any]:
    """That it is missing was said already."""
    return values if values["slug"] else {key: value for key, value in values.items() if key != "slug"}


def _once(entry: Located, name: str, seen: dict[str, int], problems: Problems) -> None:
    if name in seen:
        problems.add(entry, f"{name} stands on line {seen[name]} already.")
    seen.setdefault(name, entry.line)


def _check_currency(entry: Located, problems: Problems) -> None:
    given = entry.value.get("currency")
    if given is not None and given.value != CURRENCY:
        problems.add(given, f"prices are in US dollars (USD) for a million tokens, not in {given.value}.")
