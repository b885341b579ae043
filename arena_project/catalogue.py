"""The catalogue as one file: every app's section, all or nothing. The format is in docs/catalogue.md."""

from pathlib import Path
from typing import Any

import yaml
from django.db import transaction

from battles.prompt_sets import prompt_sets_dumped, prompt_sets_read, prompt_sets_store
from common.audit import Deed, note
from common.rows import Problems, Report, check_keys
from common.yaml_lines import FileInvalid, read
from providers.catalogue import endpoints_check, endpoints_dumped, endpoints_read, endpoints_store

SECTIONS: dict[str, tuple[Any, Any, Any]] = {
    "endpoints": (endpoints_read, endpoints_store, endpoints_dumped),
    "prompt_sets": (prompt_sets_read, prompt_sets_store, prompt_sets_dumped),
}


def catalogue_load(*, text: str, dry_run: bool = False) -> Report:
    """Store what a file says; what it does not mention stays as it is, so that loading it twice changes nothing.

    Raises FileInvalid with every problem and its line; then nothing was stored. A dry run stores nothing either.
    """
    whole = read(text)
    problems = Problems()
    if not isinstance(whole.value, dict):
        raise FileInvalid([f"line {whole.line}: expected {' and '.join(SECTIONS)}."])
    check_keys(whole, SECTIONS, problems)
    rows = {
        name: read_section(whole.value[name], problems)
        for name, (read_section, _, _) in SECTIONS.items()
        if name in whole.value
    }
    if not problems:
        endpoints_check(rows.get("endpoints", []), problems)
    if problems:
        raise FileInvalid(problems.in_order())
    report = Report()
    with transaction.atomic():
        for name, found in rows.items():
            SECTIONS[name][1](found, report)
        if report.added or report.changed:
            detail = {"added": report.added, "changed": report.changed}
            note(Deed(actor_id=None, action="catalogue_load", detail=detail))
        transaction.set_rollback(dry_run)
    return report


def catalogue_dump() -> str:
    """What is there, as a file that `catalogue_load` reads. Holds no keys, only the names of their variables."""
    whole = {name: dumped for name, (_, _, dump) in SECTIONS.items() if (dumped := dump())}
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=100)


def catalogue_file(path: Path) -> str:
    """Raises FileInvalid for a file that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileInvalid([f"{path} cannot be read: {error}"]) from error
