"""Text in a drawing: made harmless, measured without a font, shortened to fit.

Names of models are written by strangers. What XML forbids and what turns the reading direction around is dropped.
"""

import re
import unicodedata
from html import escape

# Characters that XML 1.0 forbids, and the bidirectional controls. Source: https://www.w3.org/TR/xml/#charsets
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
LONGEST_TITLE = 300  # characters in a tooltip; the table behind a chart holds the whole name
LONGEST_SHOWN = 160  # characters
ELLIPSIS = "…"

# Advances of Liberation Sans (those of Arial) for U+0020 to U+007E, in thousandths of the font size.
# fmt: off
ADVANCES = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)
# fmt: on
WIDER = 1.16  # the widest system fonts (DejaVu Sans, Verdana) against Arial


def clean(words: str) -> str:
    """The words on one line, without characters that XML forbids or that change the direction of reading."""
    return " ".join(FORBIDDEN.sub("", words).split())


def encodable(words: str) -> str:
    """The words as they are, but for lone surrogates, which UTF-8 cannot hold."""
    return words.encode("utf-8", "replace").decode()


def escaped(words: str) -> str:
    """The cleaned words, safe as the content of an element and within a quoted attribute."""
    return escape(clean(words), quote=True)


def advance(character: str) -> float:
    """The width of a character in ems."""
    code = ord(character)
    if 0x20 <= code <= 0x7E:
        return ADVANCES[code - 0x20] / 1000
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if character == ELLIPSIS or unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    return 0.6


def text_width(words: str, size: float) -> float:
    """About how many units wide the words stand at a font size; meant to be rather too wide than too narrow."""
    return sum(advance(character) for character in words) * size * WIDER


def fitted(words: str, width: float, size: float) -> str:
    """The cleaned words, cut with an ellipsis where they are wider than `width`."""
    words = clean(words)
    room = width / (size * WIDER)
    used = 0.0
    for at, character in enumerate(words):
        used += advance(character)
        if used > room:
            return _cut(words[:at], room)
        if at > LONGEST_SHOWN:  # characters without width take no room and would never end
            return words[:at] + ELLIPSIS
    return words


def _cut(words: str, room: float) -> str:
    used = sum(advance(character) for character in words) + advance(ELLIPSIS)
    while words and used > room:
        used -= advance(words[-1])
        words = words[:-1]
    # A mark that joins what follows must not be left at the end.
    while words and (unicodedata.combining(words[-1]) or words[-1] in "\u200d\ufe0f"):
        words = words[:-1]
    return words.rstrip() + ELLIPSIS
