"""Rows in portions, so that neither memory nor a transaction grows with an export. Each portion is a query of its own,
by ascending key: that works alike on every database, and in whatever thread asks for the next one."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Prefetch, QuerySet

from battles.models import Battle, Preference, Response, Turn

PORTION = 500


def in_portions(rows: QuerySet[Any]) -> Iterator[Any]:
    """All rows by ascending key, PORTION at a time."""
    last = 0
    while portion := list(rows.filter(pk__gt=last).order_by("pk")[:PORTION]):
        yield from portion
        last = portion[-1].pk


def with_battles(rows: QuerySet[Preference]) -> QuerySet[Preference]:
    """With everything that a pair is made of, in a constant number of queries a portion."""
    return rows.select_related("winner").prefetch_related(Prefetch("battle", whole_battles()))


def whole_battles() -> QuerySet[Battle]:
    responses = Response.objects.filter(is_current=True).select_related("side", "model").order_by("side__label")
    turns = Turn.objects.order_by("number").prefetch_related(Prefetch("responses", responses), "images")
    return Battle.objects.prefetch_related("sides__model", Prefetch("turns", turns))
