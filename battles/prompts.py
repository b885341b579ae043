"""What counts as a prompt: text that a person can have meant and that every store and wire can hold. Pure."""

from battles.errors import PromptInvalid
from common.text import is_blank, text_problem


def text_clean(text: str, *, limit: int, what: str = "prompt") -> str:
    """Return `text` without outer white space. Raises PromptInvalid for what `text_problem` names."""
    text = text.strip()
    if problem := text_problem(text, limit=limit, what=what):
        raise PromptInvalid(problem)
    return text


def prompt_clean(text: str, *, limit: int) -> str:
    """Like text_clean, and something must be visible: zero-width characters alone are no prompt."""
    text = text_clean(text, limit=limit)
    if is_blank(text):
        raise PromptInvalid
    return text
