"""What may be stored and sent as text. Pure."""

import unicodedata

INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Co"})


def text_problem(text: str, *, limit: int, what: str) -> str:
    """What is wrong with `text`, in a sentence; empty where nothing is.

    Wrong is what has more than `limit` characters or holds what no text has: NUL and other control characters, halves
    of surrogate pairs. `what` is how the sentence calls it.
    """
    if len(text) > limit:
        return f"The {what} is too long: {len(text):,} characters, and {limit:,} are allowed."
    if any(character < " " and character not in "\n\r\t" for character in text):
        return f"The {what} holds control characters. Please send plain text."
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"The {what} holds broken characters. Please send plain text."
    return ""


def counted(number: int, one: str, many: str = "") -> str:
    """1 answer, 2 answers, 1,000 answers; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen: zero-width characters alone are blank, too."""
    return all(unicodedata.category(character) in INVISIBLE for character in text)
