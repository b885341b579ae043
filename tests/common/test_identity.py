"""Who says who it is, and who only looks so: a labelled set, with the figures that the rules must keep."""

from common.identity import asks_identity, names_itself
from tests.common.identity_lines import ASKS, ASKS_NOT, SAYS, SAYS_NOT

NAMES = ("Acme Large", "Pangolin Labs")
# Of a set that the rules were written with; on other text they will do worse.
PRECISION, RECALL = 0.97, 0.92


def figures(found: list[bool], wrongly: list[bool]) -> tuple[float, float]:
    return sum(found) / max(1, sum(found) + sum(wrongly)), sum(found) / len(found)


def test_the_set_is_large_enough_to_say_something() -> None:
    assert len(SAYS) + len(SAYS_NOT) + len(ASKS) + len(ASKS_NOT) >= 120


def test_answers_that_name_their_model_are_found_and_others_left_alone() -> None:
    found, wrongly = [names_itself(line, NAMES) for line in SAYS], [names_itself(line, NAMES) for line in SAYS_NOT]
    precision, recall = figures(found, wrongly)
    missed = [line for line, is_found in zip(SAYS, found, strict=True) if not is_found]
    wrong = [line for line, is_found in zip(SAYS_NOT, wrongly, strict=True) if is_found]
    assert precision >= PRECISION, wrong
    assert recall >= RECALL, missed


def test_prompts_that_ask_for_the_model_are_found_and_others_left_alone() -> None:
    found, wrongly = [asks_identity(line) for line in ASKS], [asks_identity(line) for line in ASKS_NOT]
    precision, recall = figures(found, wrongly)
    assert precision >= PRECISION, [line for line, is_found in zip(ASKS_NOT, wrongly, strict=True) if is_found]
    assert recall >= RECALL, [line for line, is_found in zip(ASKS, found, strict=True) if not is_found]


def test_a_name_of_the_catalogue_is_known_only_where_it_is_given() -> None:
    assert names_itself("I am Acme Large, an AI model.", NAMES)
    assert not names_itself("I am Acme Large, an AI model.")


def test_a_long_hostile_text_takes_no_time() -> None:
    """A megabyte that almost matches everywhere: only its beginning and end are looked at."""
    assert not names_itself("I am an AI assistant " * 50_000)
    assert not asks_identity("what AI " * 100_000)
