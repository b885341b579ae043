"""What counts as a prompt."""

import pytest

from battles.errors import PromptInvalid
from battles.prompts import prompt_clean


@pytest.mark.parametrize("text", ["", "   \n", "\u200b\u200d\ufeff", "\u202e", "\u00a0\u2003"])
def test_a_prompt_without_anything_to_see_is_refused(text: str) -> None:
    with pytest.raises(PromptInvalid):
        prompt_clean(text, limit=100)


@pytest.mark.parametrize("text", ["a\x00b", "\x1b[31mred", "half \ud800 pair"])
def test_a_prompt_that_no_store_can_hold_is_refused(text: str) -> None:
    with pytest.raises(PromptInvalid, match="plain text"):
        prompt_clean(text, limit=100)


def test_a_prompt_over_the_limit_is_refused_with_both_figures() -> None:
    with pytest.raises(PromptInvalid, match="1,001 characters, and 1,000 are allowed"):
        prompt_clean("x" * 1_001, limit=1_000)


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "👩‍👩‍👧 family", "<script>alert(1)</script>", "a\u200bb", "tabs\tand\nlines", "x" * 1_000]
)
def test_unusual_text_that_a_person_can_mean_is_kept_as_it_is(text: str) -> None:
    assert prompt_clean(f"  {text}\n", limit=1_000) == text
