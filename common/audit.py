"""Where every app says what was done that others may want to know of. What keeps it is `accounts.audit`, which no app
below or beside accounts may import: it announces itself here when it starts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing that was done. `actor_id` is whose hand it was, None for the system's; `detail` holds plain JSON
    values and never a secret."""

    actor_id: int | None
    action: str
    subject: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


Keeper = Callable[[list[Deed]], None]
_keepers: list[Keeper] = []


def kept_by(keeper: Keeper) -> None:
    """Have `keeper` store all deeds from now on."""
    _keepers[:] = [keeper]


def note(*deeds: Deed) -> None:
    """Store deeds, in the caller's transaction: what is rolled back was not done."""
    for keeper in _keepers:
        keeper(list(deeds))
