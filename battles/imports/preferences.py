"""Preference files become a prompt set with its prompts and its preferences. Like battles, a file is read twice:
checked, then stored in one transaction."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import IO

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction

from battles.imports.battles import Noted
from battles.imports.errors import ImportInvalid
from battles.imports.preference_rows import Told, told_of
from battles.imports.reading import rows
from battles.models import Category, ImportedPreference, Prompt, PromptSet

BATCH = 500
SHOWN_ROWS = 5
SHOWN_CHARACTERS = 200
SLUG_LENGTH = 50


@dataclass
class PreferenceSummary:
    """What a file holds, and what storing it did: `new` and `new_prompts` are None after a dry run."""

    rows: int = 0
    pairs: int = 0
    single: int = 0
    only_prompts: int = 0
    first: list[dict[str, str]] = field(default_factory=list)
    new: int | None = None
    new_prompts: int | None = None


def preferences_import(
    *, file: IO[bytes], prompt_set: str, is_dry_run: bool = False, on_row: Noted = lambda rows: None
) -> PreferenceSummary:
    """Check a file and, unless it is a dry run, store what is not there yet; a prompt set that is new is made.

    The same content again, in this file or another, adds nothing. Raises ImportInvalid with the line; then nothing was
    changed.
    """
    prompt_set_check(prompt_set)
    done = PreferenceSummary()
    for told in _told(file):
        done.rows += 1
        done.pairs += bool(told.chosen and told.rejected)
        done.single += bool(told.chosen) != bool(told.rejected)
        done.only_prompts += not (told.chosen or told.rejected)
        if len(done.first) < SHOWN_ROWS:
            done.first.append(_shown(told))
        on_row(done.rows)
    if not done.rows:
        raise ImportInvalid("The file has no rows.")
    if not is_dry_run:
        done.new, done.new_prompts = _store(file, prompt_set)
    return done


def prompt_set_check(slug: str) -> None:
    """Refuse, with ImportInvalid, what is no slug."""
    try:
        validate_slug(slug)
    except ValidationError as error:
        raise ImportInvalid("The prompt set needs a slug: letters, digits and hyphens.") from error
    if len(slug) > SLUG_LENGTH:
        raise ImportInvalid(f"The slug of the prompt set is longer than {SLUG_LENGTH} characters.")


@transaction.atomic
def _store(file: IO[bytes], slug: str) -> tuple[int, int]:
    """How many preferences and prompts are new."""
    prompt_set, _ = PromptSet.objects.get_or_create(slug=slug, defaults={"name": slug})
    before = prompt_set.preferences.count(), prompt_set.prompts.count()
    known = {_digest(text) for text in prompt_set.prompts.values_list("text", flat=True).iterator()}
    told = _told(file)
    while batch := list(islice(told, BATCH)):
        found = [_preference(one, prompt_set) for one in batch if one.chosen or one.rejected]
        ImportedPreference.objects.bulk_create(found, ignore_conflicts=True)
        fresh = {_digest(one.first_prompt): one for one in batch}
        prompts = [_prompt(one, prompt_set) for digest, one in fresh.items() if digest not in known]
        Prompt.objects.bulk_create(prompts)
        known |= set(fresh)
    return prompt_set.preferences.count() - before[0], prompt_set.prompts.count() - before[1]


def _told(file: IO[bytes]) -> Iterator[Told]:
    return (told_of(row, number) for number, row in rows(file))


def _preference(told: Told, prompt_set: PromptSet) -> ImportedPreference:
    return ImportedPreference(
        prompt_set=prompt_set, digest=hashlib.sha256(msgspec.json.encode(told)).hexdigest(), **told._asdict()
    )


def _prompt(told: Told, prompt_set: PromptSet) -> Prompt:
    category = told.category if told.category in Category.values else Category.GENERAL
    return Prompt(prompt_set=prompt_set, text=told.first_prompt, category=category, language=told.language)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:8]


def _shown(told: Told) -> dict[str, str]:
    texts = {"prompt": told.prompt, "chosen": told.chosen, "rejected": told.rejected}
    return {name: spoken[-1][1][:SHOWN_CHARACTERS] if spoken else "" for name, spoken in texts.items()}
