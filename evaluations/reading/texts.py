"""What changed from one text to the next, word by word."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

# Longer texts are compared line by line: the time grows with the square of the pieces.
WORDS_MAX = 4000


def pieces(before: str, after: str) -> Iterator[tuple[str, str]]:
    """("same" | "del" | "ins", text): all of both texts, in order."""
    split = r"\s+|\w+|[^\w\s]" if max(len(before), len(after)) <= WORDS_MAX * 5 else r"[^\n]*\n|[^\n]+"
    one, two = re.findall(split, before), re.findall(split, after)
    for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", "".join(one[a:b])
            continue
        if a < b:
            yield "del", "".join(one[a:b])
        if c < d:
            yield "ins", "".join(two[c:d])


def difference_html(before: str, after: str) -> SafeString:
    """Both texts in one, with <del> and <ins>."""
    marks = {"same": "{}", "del": "<del>{}</del>", "ins": "<ins>{}</ins>"}
    return format_html_join("", "{}", ((format_html(marks[kind], text),) for kind, text in pieces(before, after)))


def turns_difference(before: Sequence[str], after: Sequence[str]) -> list[SafeString]:
    """Turn by turn; a turn that only one of the two has is all new, or all gone."""
    most = max(len(before), len(after))
    pairs = zip([*before, *[""] * (most - len(before))], [*after, *[""] * (most - len(after))], strict=True)
    return [difference_html(one, two) for one, two in pairs]
