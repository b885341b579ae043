"""Colours by name: classes in a page (static/css/charts.css knows light and dark), fixed light colours in a file.

The categorical palette follows Okabe and Ito (https://jfly.uni-koeln.de/color/), darkened for light grounds and
lightened for dark ones until every colour has at least 3:1 against the ground.
"""

import hashlib
from dataclasses import dataclass

SERIES = 8  # colours of the palette
DASHES = (None, "6 3", "2 3")  # where colours repeat, lines still differ

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
    "high": ("#0a4a80", "#8cc8ff"),
    "low": ("#8a3c00", "#ffb070"),
    "on-pale": ("#000000", "#ffffff"),
    "on-strong": ("#ffffff", "#000000"),
}


@dataclass(frozen=True)
class Look:
    """How one key (a model, an agent) is drawn wherever it appears."""

    paint: str
    dash: str | None


def look_of(key: str) -> Look:
    """The same key has the same colour and dash in every chart and every process."""
    number = int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return Look(f"c{number % SERIES}", DASHES[number // SERIES % len(DASHES)])


def colour_of(key: str) -> str:
    """The name of the key's colour in `PAINTS`."""
    return look_of(key).paint


def light(paint: str) -> str:
    """The colour of a paint on a light ground, as a hexadecimal code."""
    return PAINTS[paint][0]
