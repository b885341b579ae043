"""One field of an imported file at a time: what it must be, and where it stands if it is not. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.dateparse import parse_datetime

from common.text import text_problem
from conversations.errors import FileInvalid

CONTENT_MAX_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class At:
    """Where in the file something stands, for the sentence that says what is wrong with it."""

    path: str

    def wrong(self, what: str) -> FileInvalid:
        return FileInvalid(f"{self.path}: {what} Nothing of the file was kept.")

    def inner(self, name: str | int) -> "At":
        return At(f"{self.path}[{name}]" if isinstance(name, int) else f"{self.path}.{name}")


def mapping(value: Any, at: At) -> Mapping[str, Any]:
    """Empty where there is none."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise at.wrong("this must be an object.")
    return value


def text_of(value: Any, at: At, limit: int = CONTENT_MAX_CHARACTERS) -> str:
    """Text that can be stored; empty where there is none."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise at.wrong("this must be text.")
    if problem := text_problem(value, limit=limit, what="text"):
        raise at.wrong(problem)
    return value


def whole(value: Any, at: At, *, below: int = 2**31) -> int | None:
    """A whole number from 0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise at.wrong("this must be a whole number, not below 0.")
    return value


def number_of(value: Any, at: At, *, most: float) -> float | None:
    """A number from 0 to `most`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise at.wrong(f"this must be a number from 0 to {most:g}.")
    return float(value)


def dollars(value: Any, at: At) -> Decimal:
    """US dollars."""
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        cost = Decimal("NaN")
    if not cost.is_finite():
        raise at.wrong("a cost is a number.")
    if not 0 <= cost < 10_000:
        raise at.wrong("a cost is from 0 to 10,000 US dollars.")
    return cost


def time_of(value: Any, at: At) -> datetime | None:
    """A time with its zone."""
    if value is None:
        return None
    try:
        time = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise at.wrong("a time is written as 2026-01-31T12:00:00+00:00.")
    return time
