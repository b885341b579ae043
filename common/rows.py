"""Rows of a table from a file: checked by the model's own validators, and stored by slug so that a second time changes
nothing."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import models

from common.yaml_lines import Located

M = TypeVar("M", bound=models.Model)


class Problems(list[str]):
    """What is wrong with a file, so far."""

    def add(self, at: Located | int, what: str) -> None:
        self.append(f"line {at.line if isinstance(at, Located) else at}: {what}")

    def in_order(self) -> list[str]:
        """As they stand in the file."""
        return sorted(self, key=lambda problem: int(problem.removeprefix("line ").partition(":")[0]))


@dataclass
class Report:
    """What storing rows has done."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: int = 0

    def __str__(self) -> str:
        return f"{len(self.added)} added, {len(self.changed)} changed, {self.same} as they were"


def mappings(section: Located, what: str, problems: Problems) -> list[Located]:
    """The entries of a list of mappings; others are problems."""
    if not isinstance(section.value, list):
        problems.add(section, f"{what} must be a list.")
        return []
    good = [entry for entry in section.value if isinstance(entry.value, dict)]
    for entry in section.value:
        if not isinstance(entry.value, dict):
            problems.add(entry, f"each of {what} has keys and values, not {entry.value!r}.")
    return good


def check_keys(entry: Located, known: Collection[str], problems: Problems) -> None:
    """A key that is not known is a problem, with the one that was perhaps meant."""
    for key, value in entry.value.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            problems.add(value, f"{key} is not known." + (f" Did you mean {near[0]}?" if near else ""))


def check_values(model: type[models.Model], entry: Located, values: Mapping[str, Any], problems: Problems) -> None:
    """Run the validators of the model's fields over `values`; a problem stands at the line of its key."""
    for name, value in values.items():
        try:
            column = model._meta.get_field(name)
        except FieldDoesNotExist:
            continue
        if not isinstance(column, models.Field) or column.is_relation:
            continue
        at = entry.value.get(name, entry)
        # Text that YAML takes for something else would be stored as False for NO, or 3.1 for 3.10.
        if isinstance(column, models.CharField | models.TextField) and not isinstance(value, str | None):
            problems.add(at, f"{name}: this must be text; put it in quotes.")
            continue
        if isinstance(value, bool) and not isinstance(column, models.BooleanField | models.JSONField):
            problems.add(at, f"{name}: this must be a number.")
            continue
        try:
            column.clean(value, None)
        except ValidationError as error:
            problems.add(at, f"{name}: {' '.join(error.messages)}")


def store(
    model: type[M],
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    name: str,
    report: Report,
    *,
    defaults: Mapping[str, Any] | None = None,
) -> M:
    """Make or change the row that `key` names; what `values` leaves out stays as it is, or, in a new row, is taken from
    `defaults`."""
    row = model._default_manager.filter(**key).first()
    if row is None:
        report.added.append(name)
        return model._default_manager.create(**{**(defaults or {}), **key, **values})
    different = [field for field, value in values.items() if getattr(row, field) != _stored(model, field, value)]
    if not different:
        report.same += 1
        return row
    for changed in different:
        setattr(row, changed, values[changed])
    row.save(update_fields=different)
    report.changed.append(f"{name} ({', '.join(different)})")
    return row


def _stored(model: type[models.Model], name: str, value: Any) -> Any:
    """The value as the database would give it back, so that 1 and 1.0 are the same."""
    column = model._meta.get_field(name)
    return column.to_python(value) if isinstance(column, models.Field) and not column.is_relation else value
