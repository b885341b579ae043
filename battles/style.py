"""How answers differ in form, so that ratings can hold it equal. Pure.

Source: LMSYS (2024), Does style matter? Disentangling style and substance in Chatbot Arena.
"""

import re

from leaderboard.services import Style

CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
HEADER = re.compile(r"^#{1,6}\s", re.MULTILINE)
BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)


def style_of(first: str, second: str) -> Style:
    """The difference of two answers in markdown; what stands in code is no markdown."""
    ours, theirs = _counts(first), _counts(second)
    length, headers, bold, lists = (_share(a, b) for a, b in zip(ours, theirs, strict=True))
    return Style(length=length, headers=headers, bold=bold, lists=lists)


def _counts(text: str) -> tuple[int, int, int, int]:
    """Characters, headers, bold pieces, list items."""
    prose = CODE.sub("", text)
    return len(text), len(HEADER.findall(prose)), len(BOLD.findall(prose)), len(LIST_ITEM.findall(prose))


def _share(first: int, second: int) -> float:
    return (first - second) / (first + second) if first + second else 0.0
