"""The scenario library: an edit adds a version, and what was played keeps the one it had. Called by the services."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import yaml
from django.db import transaction
from django.utils.text import slugify

from accounts.models import User
from common.errors import NotAllowed
from common.rows import Problems, check_keys, check_values, mappings
from common.text import is_blank, text_problem
from common.yaml_lines import FileInvalid, Located, read
from conversations import selectors
from conversations.errors import ScenarioInvalid
from conversations.models import Scenario, Side
from conversations.scenario_texts import placeholders_check

LIBRARY = Path(__file__).with_name("scenarios.yaml")
FIELDS = (
    "name", "category", "description", "name_a", "name_b", "system_a", "system_b", "opening", "first_side",
)  # fmt: skip
TEXTS = ("system_a", "system_b", "opening")
TEXT_MAX_CHARACTERS = 20_000
SHORT_MAX_CHARACTERS = {"name": 100, "category": 60, "name_a": 60, "name_b": 60, "first_side": 1}
SCENARIOS_MAX = 500
# Addresses of pages beside those of the scenarios.
RESERVED = {"new", "import", "export"}


@transaction.atomic
def scenario_create(*, owner: User | None, values: Mapping[str, str], slug: str = "") -> Scenario:
    """A new scenario of a person, or of the library where `owner` is None. Raises ScenarioInvalid."""
    clean = _clean(values)
    return Scenario.objects.create(owner=owner, slug=_free(slug or clean["name"]), **clean)


@transaction.atomic
def scenario_edit(*, slug: str, editor: User, values: Mapping[str, str]) -> Scenario:
    """Add a version with these values; what is left out stays. The same again adds nothing.

    Raises NotFound, NotAllowed for one of the library (copy it), ScenarioInvalid.
    """
    before = selectors.scenario_get(slug=slug, viewer=editor)
    if before.owner_id is None and not editor.is_staff:
        raise NotAllowed("This scenario belongs to the library. Copy it, and edit the copy.")
    was = {field: getattr(before, field) for field in FIELDS}
    clean = _clean(was | dict(values))
    if clean == was:
        return before
    Scenario.objects.filter(slug=slug, is_current=True).update(is_current=False)
    return Scenario.objects.create(owner=before.owner, slug=slug, version=before.version + 1, **clean)


@transaction.atomic
def scenario_copy(*, slug: str, owner: User) -> Scenario:
    """A scenario of one's own that begins as another is now. Raises NotFound."""
    original = selectors.scenario_get(slug=slug, viewer=owner)
    values = {field: getattr(original, field) for field in FIELDS}
    return scenario_create(owner=owner, values=values | {"name": f"{original.name[:92]}, copy"}, slug=f"{slug}-copy")


@transaction.atomic
def scenarios_import(*, owner: User | None, text: str) -> list[Scenario]:
    """Add the scenarios of a YAML file, all or none. Raises FileInvalid with the line of each problem."""
    problems = Problems()
    entries = _entries(text, problems)
    if problems:
        raise FileInvalid(problems.in_order())
    return [scenario_create(owner=owner, values=_values(entry), slug=_slug(entry)) for entry in entries]


@transaction.atomic
def scenarios_seed() -> int:
    """Add the scenarios that come with Tourney and are not there yet; return how many. Later edits are left alone."""
    entries = _entries(LIBRARY.read_text(encoding="utf-8"), Problems())
    there = set(Scenario.objects.values_list("slug", flat=True))
    new = [
        Scenario(slug=entry.value["slug"].value, **_clean(_values(entry)))
        for entry in entries
        if entry.value["slug"].value not in there
    ]
    return len(Scenario.objects.bulk_create(new))


def scenarios_yaml(scenarios: Iterable[Scenario]) -> str:
    """A file that `scenarios_import` takes."""
    rows = [
        {"slug": one.slug, "version": one.version} | {field: getattr(one, field) for field in FIELDS}
        for one in scenarios
    ]
    return yaml.safe_dump({"scenarios": rows}, allow_unicode=True, sort_keys=False, width=120)


def _entries(text: str, problems: Problems) -> Sequence[Located]:
    whole = read(text)
    if not isinstance(whole.value, dict) or "scenarios" not in whole.value:
        problems.add(whole, "a file of scenarios begins with “scenarios:”.")
        return []
    check_keys(whole, ["scenarios"], problems)
    entries = mappings(whole.value["scenarios"], "scenarios", problems)
    if len(entries) > SCENARIOS_MAX:
        problems.add(whole, f"{len(entries)} scenarios are too many; {SCENARIOS_MAX} are taken at once.")
    for entry in entries:
        check_keys(entry, ["slug", "version", *FIELDS], problems)
        values = {key: one.plain() for key, one in entry.value.items() if key in ("slug", *FIELDS)}
        check_values(Scenario, entry, values, problems)
        try:
            _clean(_values(entry))
        except ScenarioInvalid as error:
            at = next((entry.value[field] for field in error.fields if field in entry.value), entry)
            problems.add(at, str(error))
    return entries


def _slug(entry: Located) -> str:
    return str(entry.value["slug"].value) if "slug" in entry.value else ""


def _values(entry: Located) -> dict[str, Any]:
    return {field: entry.value[field].plain() for field in FIELDS if field in entry.value}


def _clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """All columns, without outer white space. Raises ScenarioInvalid, with the field."""
    clean = {field: str(values.get(field) or "").strip() for field in FIELDS}
    clean["first_side"] = clean["first_side"] or Side.A.value
    if clean["first_side"] not in Side.values:
        raise _invalid("first_side", "Who begins is a or b.")
    for field in ("name", "opening"):
        if is_blank(clean[field]):
            raise _invalid(field, f"A scenario needs {'a name' if field == 'name' else 'an opening'}.")
    for field, text in clean.items():
        limit = SHORT_MAX_CHARACTERS.get(field, TEXT_MAX_CHARACTERS)
        if problem := text_problem(text, limit=limit, what=field.replace("_", " ")):
            raise _invalid(field, problem)
    placeholders_check({field: clean[field] for field in TEXTS})
    return clean


def _invalid(field: str, words: str) -> ScenarioInvalid:
    return ScenarioInvalid(words, fields={field: [words]})


def _free(wanted: str) -> str:
    """A slug that nobody has."""
    base = slugify(wanted)[:50] or "scenario"
    taken = RESERVED | set(Scenario.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return next(one for one in chain([base], (f"{base}-{n}" for n in count(2))) if one not in taken)
