"""Colours by name: classes in a page (static/css/charts.css knows light and dark), fixed light colours in a file.

The categorical palette follows Okabe and Ito (https://jfly.uni-koeln.de/color/), darkened for light grounds and
lightened for dark ones until every colour has at least 3:1 against the ground.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

SERIES = 8  # colours of the palette
DASHES = (None, "7 3", "2 3", "8 3 2 3")  # where colours repeat, lines still differ

# name: (light, dark). charts.css says the same; a test compares.
PAINTS: dict[str, tuple[str, str]] = {
    "ground": ("#ffffff", "#1a1c20"),
    "ink": ("#1b1d20", "#ecedee"),
    "soft": ("#575a60", "#adb1b8"),
    "grid": ("#e1e1dc", "#33363d"),
    "axis": ("#85857f", "#747983"),
    "accent": ("#0d6670", "#67c7d1"),
    "c0": ("#0072b2", "#56b4e9"),
    "c1": ("#c4540a", "#f0803c"),
    "c2": ("#00805e", "#2fc79a"),
    "c3": ("#b0508a", "#e08fbe"),
    "c4": ("#8a6a00", "#e0b83c"),
    "c5": ("#4b3fa8", "#a99bff"),
    "c6": ("#882255", "#e0607e"),
    "c7": ("#3a87a0", "#8ed1df"),
    # Cells of a heatmap: the far ends, and the words on a pale and on a strong cell.
    "high": ("#09406e", "#70a0cc"),
    "low": ("#692e00", "#cf8f5b"),
    "on-pale": ("#000000", "#ffffff"),
    "on-strong": ("#ffffff", "#000000"),
}


@dataclass(frozen=True)
class Look:
    """How the line of one key (a model, an agent) is drawn."""

    paint: str
    dash: str | None


def colour_of(key: str | None) -> str:
    """The name in `PAINTS` of the key's colour, the same in every chart and process; the accent where there is none."""
    if key is None:
        return "accent"
    number = int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return f"c{number % SERIES}"


def looks_of(keys: Iterable[str | None]) -> list[Look]:
    """A look for each key of one chart: its colour, and a dash of its own where keys share a colour."""
    seen: dict[str, int] = {}
    looks = []
    for key in keys:
        colour = colour_of(key)
        looks.append(Look(colour, DASHES[seen.get(colour, 0) % len(DASHES)]))
        seen[colour] = seen.get(colour, 0) + 1
    return looks


def colours_apart(keys: Iterable[str]) -> dict[str, str]:
    """A colour for each key that one page shows in several charts: its own, or the next free one where another key has
    that. Beyond eight keys colours repeat."""
    found: dict[str, str] = {}
    for key in keys:
        first = int(colour_of(key)[1:])
        turned = [f"c{(first + step) % SERIES}" for step in range(SERIES)]
        found.setdefault(key, next((paint for paint in turned if paint not in found.values()), turned[0]))
    return found


def light(paint: str) -> str:
    """The colour of a paint on a light ground, as a hexadecimal code."""
    return PAINTS[paint][0]
