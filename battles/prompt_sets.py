"""Prompt sets as a file: the section `prompt_sets` of a catalogue. The format is in docs/catalogue.md."""

from dataclasses import dataclass
from typing import Any

from django.utils.text import slugify

from battles.models import Prompt, PromptSet
from common.rows import Problems, Report, check_keys, check_values, mappings, store
from common.yaml_lines import Located

SET_KEYS = ("slug", "name", "is_suggested")
PROMPT_KEYS = ("title", "text", "category", "language")


@dataclass(frozen=True, slots=True)
class PromptSetRow:
    values: dict[str, Any]
    prompts: tuple[dict[str, Any], ...]


def prompt_sets_read(section: Located, problems: Problems) -> list[PromptSetRow]:
    """The rows of the section; what is wrong goes into `problems`."""
    rows = []
    for entry in mappings(section, "prompt_sets", problems):
        check_keys(entry, [*SET_KEYS, "prompts"], problems)
        values = {key: entry.value[key].plain() for key in SET_KEYS if key in entry.value}
        values.setdefault("slug", slugify(str(values.get("name", ""))))
        check_values(PromptSet, entry, values, problems)
        prompts = entry.value.get("prompts", Located([], entry.line))
        found = tuple(_prompt_read(prompt, problems) for prompt in mappings(prompts, "prompts", problems))
        rows.append(PromptSetRow(values, found))
    return rows


def _prompt_read(entry: Located, problems: Problems) -> dict[str, Any]:
    check_keys(entry, PROMPT_KEYS, problems)
    values = {key: entry.value[key].plain() for key in PROMPT_KEYS if key in entry.value}
    if not str(values.get("text", "")).strip():
        problems.add(entry, "text is missing.")
    check_values(Prompt, entry, values, problems)
    return values


def prompt_sets_store(rows: list[PromptSetRow], report: Report) -> None:
    """Make or change them; a prompt is known by its text. Inside the caller's transaction."""
    for row in rows:
        name = f"prompt set {row.values['slug']}"
        key = {"slug": row.values["slug"]}
        prompt_set = store(PromptSet, key, row.values, name, report, defaults={"name": row.values["slug"]})
        for values in row.prompts:
            known_by = {"prompt_set": prompt_set, "text": values["text"]}
            store(Prompt, known_by, values, f"prompt “{values['text'][:40]}”", report)


def prompt_sets_dumped() -> list[dict[str, Any]]:
    """All prompt sets with their prompts."""
    return [
        {"slug": one.slug, "name": one.name, "is_suggested": one.is_suggested}
        | {"prompts": [{key: getattr(prompt, key) for key in PROMPT_KEYS} for prompt in one.prompts.all()]}
        for one in PromptSet.objects.prefetch_related("prompts").order_by("slug")
    ]
