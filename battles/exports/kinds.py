"""The kinds of export: which columns each has, and what makes its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from battles.exports.arena_files import battle_columns, battle_rows, comparison_columns, comparison_rows
from battles.exports.errors import ExportInvalid
from battles.exports.kto import kto_columns, kto_rows
from battles.exports.pairs import dpo_columns, dpo_rows, reward_columns, reward_rows
from battles.exports.rows import Columns, Counts, Row
from battles.exports.seen import Seen
from battles.exports.selection import Selection


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: `columns` in their order, `rows` made while they are read; skipped ones are counted. A kind that
    `is_plain` has texts that the shape *standard* tells as strings."""

    slug: str
    task: str
    columns: Callable[[Selection], Columns]
    rows: Callable[[Selection, Seen, Counts], Iterator[Row]]
    is_plain: bool = True


KINDS: dict[str, Kind] = {
    kind.slug: kind
    for kind in (
        Kind("dpo", "preference pairs", dpo_columns, dpo_rows),
        Kind("kto", "single answers, good or bad", kto_columns, kto_rows),
        Kind("reward", "preference pairs without a prompt of their own", reward_columns, reward_rows),
        Kind("battles", "votes in the shape of Chatbot Arena", battle_columns, battle_rows, is_plain=False),
        Kind("comparisons", "outcomes between two models", comparison_columns, comparison_rows, is_plain=False),
    )
}


def kind_of(slug: str) -> Kind:
    """Raises ExportInvalid."""
    if slug not in KINDS:
        raise ExportInvalid(f"There is no export “{slug}”. Known are: {', '.join(KINDS)}.")
    return KINDS[slug]
