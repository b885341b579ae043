"""What counts as a prompt: text that a person can have meant and that every store and wire can hold. Pure."""

import unicodedata

from battles.errors import PromptInvalid

INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Co"})


def text_clean(text: str, *, limit: int, what: str = "prompt") -> str:
    """Return `text` without outer white space.

    Raises PromptInvalid where it is longer than `limit` characters or holds what no text has: NUL and other control
    characters, halves of surrogate pairs.
    """
    text = text.strip()
    if len(text) > limit:
        raise PromptInvalid(f"The {what} is too long: {len(text):,} characters, and {limit:,} are allowed.")
    if any(character < " " and character not in "\n\r\t" for character in text):
        raise PromptInvalid(f"The {what} holds control characters. Please send plain text.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PromptInvalid(f"The {what} holds broken characters. Please send plain text.") from None
    return text


def prompt_clean(text: str, *, limit: int) -> str:
    """Like text_clean, and something must be visible: zero-width characters alone are no prompt."""
    text = text_clean(text, limit=limit)
    if all(unicodedata.category(character) in INVISIBLE for character in text):
        raise PromptInvalid
    return text
