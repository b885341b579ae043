"""What can be counted in a conversation, on examples that a reader can check by hand."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from conversations.measures import Line, cosine, diversity, measure, questions, slope
from conversations.stopping import Rules, is_repeated, says_goodbye, stop_reason
from tests import factories
from tests.conversations import rows

LINES = [
    Line("a", "The red fox runs fast.", latency_ms=100, tokens=6),
    Line("b", "Does the red fox run? I do not know.", latency_ms=300, tokens=10),
    Line("a", "The red fox runs fast.", latency_ms=200, tokens=6, is_refusal=True),
]


def test_a_small_conversation_by_hand() -> None:
    found = measure(LINES)
    one, other = found.agents["a"], found.agents["b"]
    assert (one.turns, one.words, one.latency_ms, one.tokens, one.refusals) == (2, 5, 150, 6, 1)
    assert one.diversity == 5 / 10
    assert one.self_repetition == 1  # its second turn is its first
    assert one.cross_repetition == 1 / 3  # of "the red fox", "red fox runs", "fox runs fast" B had said the first
    assert other.self_repetition is None
    assert other.cross_repetition == 1 / 7
    assert other.questions == 1 / 2
    assert found.words == (5, 9, 5)
    assert found.similarity[0] == found.similarity[1] == pytest.approx(3 / (5 * 9) ** 0.5)


def test_nothing_said_is_nothing_counted() -> None:
    found = measure([])
    assert found.agents["a"].words is None
    assert found.similarity == ()


def test_windows_of_words() -> None:
    assert diversity(["a", "b", "a", "b"], window=2) == 1
    assert diversity(["a", "a", "b"], window=2) == (1 / 2 + 1) / 2
    assert slope([1, 3, 5]) == 2
    assert slope([1, 3]) is None
    assert questions(["Why? Because.", "Really?!"]) == 2 / 3


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=60)), max_size=8))
def test_shares_are_shares_and_swapping_the_agents_swaps_the_figures(said: list[tuple[str, str]]) -> None:
    lines = [Line(*one) for one in said]
    swapped = [Line("ab"[one.speaker == "a"], one.text) for one in lines]
    found, mirrored = measure(lines), measure(swapped)
    assert found.agents["a"] == mirrored.agents["b"]
    for figures in found.agents.values():
        shares = (figures.diversity, figures.self_repetition, figures.cross_repetition, figures.questions)
        assert all(share is None or 0 <= share <= 1 for share in shares)
    assert all(0 <= value <= 1 for value in found.similarity)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1))
def test_a_text_is_wholly_like_itself(said: list[str]) -> None:
    assert cosine(said, said) == pytest.approx(1)


@pytest.mark.parametrize(
    ("line", "is_one"),
    [("It was nice. Goodbye!", True), ("See you tomorrow.", True), ("Have a wonderful day!", True),
     ("Auf Wiedersehen!", True), ("Let me say why.", False), ("Goodbye is a word. " + "So it goes on. " * 30, False)],
)  # fmt: skip
def test_a_farewell_is_told(line: str, is_one: bool) -> None:
    assert says_goodbye(line) == is_one


def test_only_a_nearly_equal_line_is_a_repetition() -> None:
    line = "We should meet at nine in the old station by the river, and bring the map with us for the way home."
    assert is_repeated(line, line.upper().replace(",", ""))
    assert not is_repeated(line, "We should meet at nine.")
    assert not is_repeated("", "")


def test_both_must_say_goodbye() -> None:
    rules = Rules(max_turns=9, stops_on_goodbye=True)
    assert stop_reason(["Goodbye!", "Not yet."], rules, tokens=0, cost=0) is None  # type: ignore[arg-type]
    assert stop_reason(["Goodbye!", "Bye!"], rules, tokens=0, cost=0) == "goodbye"  # type: ignore[arg-type]


@pytest.mark.django_db
def test_the_page_shows_them(client: Client) -> None:
    row = rows.conversation(lines=["The red fox runs.", "Does it?", "It does."])
    client.force_login(row.owner)
    page = client.get(f"/conversations/{row.id}/measures/").content.decode()
    assert "Words a turn" in page
    assert "<polyline" in page
    client.force_login(factories.user())
    assert client.get(f"/conversations/{row.id}/measures/").status_code == 404
