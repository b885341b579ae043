"""A streamed answer and a stored one look the same, however the stream was cut."""

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common import markdown, markdown_html
from common.markdown import BlockStream, render

# Lines that mean something to the block structure, in every order and indentation that hypothesis likes.
LINES = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "word",
        "two *words*",
        "- item",
        "-",
        "* other",
        "**bold**",
        "1. one",
        "12",
        "12 monkeys",
        "2) two",
        "> quote",
        "> - item in a quote",
        "```",
        "```python",
        "````",
        "~~~",
        "~~~~ `x`",
        "> ```",
        "- ```",
        "# heading",
        "---",
        "***",
        "===",
        "| a | b |",
        "|---|--:|",
        "$$",
        "$$x$$",
        "\\[",
        "\\]",
        "x $$",
        "[ref]: https://example.org",
        "<div>",
        "    code",
    ]
)
INDENTS = st.sampled_from(["", "", "", " ", "  ", "   ", "    ", "\t"])
BREAKS = st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r"])
DOCUMENTS = st.lists(st.tuples(INDENTS, LINES, BREAKS).map("".join), max_size=14).map("".join)
ANY_TEXT = st.text(alphabet=st.sampled_from("ab \t\n\r-*+_`~#>|$\\[]()<&;!1.:\0\u202e\u05d0é"), max_size=120)


def pieces(text: str, cuts: list[int]) -> list[str]:
    """The text cut at those places, wherever they fall within it."""
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def whole(text: str) -> str:
    """What the parser makes of all of it at once."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\u202e", "")
    return markdown_html.run_html(text if text.endswith("\n") else f"{text}\n", is_last=True) if text else ""


def joined(html: str) -> str:
    """Line ends between blocks are not seen."""
    return html.strip("\n")


@given(DOCUMENTS | ANY_TEXT, st.lists(st.integers(0, 10_000), max_size=12))
@example("- a\n\n**b** c\n\n- d", [5, 6, 7])
@example("a\r\n\r\nb", [2, 3, 4])
@settings(max_examples=400)
def test_the_html_does_not_depend_on_where_the_stream_was_cut(text: str, cuts: list[int]) -> None:
    stream = BlockStream()
    blocks = [block for piece in pieces(text, cuts) for block in stream.feed(piece)]
    assert "".join(blocks) == stream.html
    html, tail = stream.html, stream.tail
    assert stream.finish() == render(text)
    assert joined(html + render(tail)) == joined(render(text))


@given(DOCUMENTS)
@example("- a\n\n   ```\nb\n\nc\n   ```\nd")
@example("$$\n```\n$$\n\nx\n\n```\ny\n\nz")
@example("a\n   ```\n\nb")
@example("\\[\n```\n```\n\\]\n")
@settings(max_examples=600)
def test_blocks_are_those_that_the_parser_sees_in_the_whole_text(text: str) -> None:
    assert joined(render(text)) == joined(whole(text))


@given(ANY_TEXT)
@settings(max_examples=300)
def test_any_text_gives_the_blocks_of_the_whole_text(text: str) -> None:
    assert joined(render(text)) == joined(whole(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("para\n", 0),
        ("para\n\n", 1),
        ("# heading\n\n", 1),
        ("```\ncode\n", 0),
        ("```\ncode\n\nmore\n```\n", 1),
        ("~~~~\ncode\n~~~\n", 0),
        ("- a\n\n", 0),
        ("- a\n\nnext", 1),
        ("- a\n\n**next", 1),
        ("- a\n\n* ", 0),
        ("- a\n\n12 ", 1),
        ("1. a\n\n2", 0),
        ("    code\n\n", 0),
        ("    code\n\nx", 1),
        ("> quote\n\n", 1),
        ("| a |\n|---|\n| 1 |\n\n", 1),
        ("\\[\nx\n\\]\n\n", 1),
        ("title\n===\n\n", 1),
    ],
)
def test_a_block_is_sent_as_soon_as_nothing_can_change_it(text: str, count: int) -> None:
    stream = BlockStream()
    blocks = [block for character in text for block in stream.feed(character)]
    assert len(blocks) == count


def test_the_tail_is_the_text_after_the_last_finished_block() -> None:
    stream = BlockStream()
    stream.feed("one\n\ntwo **th")
    stream.feed("ree")
    assert stream.html == "<p>one</p>\n"
    assert stream.tail == "two **three"


def test_each_block_is_parsed_once() -> None:
    text = "para\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\nend\n\n" * 20 + "x"
    with patch.object(markdown, "run_html", wraps=markdown_html.run_html) as parse:
        stream = BlockStream()
        for character in text:
            stream.feed(character)
        stream.finish()
    assert parse.call_count == 20 * 4 + 1


def test_a_token_without_a_line_break_parses_nothing() -> None:
    stream = BlockStream()
    stream.feed("- a long list\n\n")
    with patch.object(markdown, "run_html", side_effect=AssertionError):
        for _ in range(1000):
            assert stream.feed("  word") == []


def test_finishing_twice_gives_the_same() -> None:
    stream = BlockStream()
    stream.feed("word")
    assert stream.finish() == stream.finish() == "<p>word</p>\n"
    assert stream.tail == ""


def test_past_the_limit_the_rest_stays_plain_and_whole() -> None:
    with patch.object(markdown, "FORMATTED_MAX_CHARACTERS", 20):
        text = "**one**\n\n- a\n- b\n\n**two**\n\n**three**\n"
        stream = BlockStream()
        for character in text:
            stream.feed(character)
        assert stream.finish() == render(text)
    assert stream.html.startswith("<p><strong>one</strong></p>\n<ul>")
    assert stream.html.endswith('<pre class="plain" tabindex="0">**two**\n\n**three**\n</pre>\n')
