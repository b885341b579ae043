"""One run of markdown to sanitised HTML. `common.markdown` decides where such a run ends.

Three walls, each enough for the ordinary attack: raw HTML is never parsed as such, links keep three schemes, and nh3
lets through only the tags, attributes and classes listed here.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from typing import Any

import nh3
import pygments
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, text_join
from markdown_it.token import Token
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from common.markdown_math import MATHML_ATTRIBUTES, MATHML_TAGS, math_plugin

HIGHLIGHT_MAX_CHARACTERS = 20_000
# Many lexers look ahead from every character, so long lines and gaps cost the square of their length, and some
# shapes of code do so without either: past the time code stays plain.
HIGHLIGHT_MAX_LINE = 1_000
HIGHLIGHT_MAX_SECONDS = 0.2
PARAGRAPH_MAX_CHARACTERS = 10_000
PARAGRAPH_MAX_BRACKETS = 300  # the parser looks for the end of a link from each of them
NESTING_MAX = 40  # markdown-it's levels: a quote is one, a list two
CACHED_MAX_CHARACTERS = 4_000  # so that the cache of runs stays below some 30 MB whatever models write
HEADING_FIRST = 3  # the page's own headings come first, and an answer that starts with ## must not skip one

_LONG_LINE_OR_GAP = re.compile(rf".{{{HIGHLIGHT_MAX_LINE}}}|\s{{100}}")
_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_TAG_NAMES = """
    a blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul
"""
_CLEANER = nh3.Cleaner(
    tags=set(_TAG_NAMES.split()) | MATHML_TAGS,
    clean_content_tags=set(),
    attributes={
        "a": {"href", "title"},
        "ol": {"start"},
        "pre": {"data-language"},
        **{tag: set(MATHML_ATTRIBUTES) for tag in MATHML_TAGS},
    },
    tag_attribute_values={
        "pre": {"tabindex": {"0"}},
        "div": {"tabindex": {"0"}},
        "td": {"align": {"left", "center", "right"}},
        "th": {"align": {"left", "center", "right"}},
    },
    allowed_classes={
        "pre": {"highlight", "plain"},
        "code": {"math"},
        "div": {"math", "table"},
        "span": {name for name in STANDARD_TYPES.values() if name},
    },
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener noreferrer nofollow ugc",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    generic_attribute_prefixes=set(),
)
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


class OpenFence(Exception):
    """The run ends inside a code fence of its own top level, so it is not finished; `marker` is what opened it."""

    def __init__(self, marker: str) -> None:
        super().__init__(marker)
        self.marker = marker


def run_html(source: str, *, is_last: bool) -> str:
    """The sanitised HTML of whole blocks; each line of `source` ends with a newline.

    Raises OpenFence where a fence is still open, unless this is the last run: then the end closes it.
    """
    return (_run_html_cached if len(source) <= CACHED_MAX_CHARACTERS else _run_html)(source, is_last)


def _run_html(source: str, is_last: bool) -> str:
    state = StateCore(source, _MD, {})
    _MD.block.parse(source, _MD, state.env, state.tokens)
    if not is_last and (marker := _open_fence(state.tokens)):
        raise OpenFence(marker)
    if _is_too_deep(state.tokens):
        return plain_html(source)
    for token in state.tokens:
        if token.type == "inline" and _is_too_much(token.content):
            token.children = [_text(token.content)]
        elif token.type == "inline":
            token.children = []
            _MD.inline.parse(token.content, _MD, state.env, token.children)
            token.children = _without_images(token.children)
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{max(HEADING_FIRST, int(token.tag[1]))}"
        elif token.type in ("td_open", "th_open"):
            _align(token)
    text_join(state)
    return _CLEANER.clean(_MD.renderer.render(state.tokens, _MD.options, state.env))


_run_html_cached = lru_cache(maxsize=1024)(_run_html)


def plain_html(source: str) -> str:
    """Text as it stands, for what is too long or too deep to be worth formatting."""
    return f'<pre class="plain" tabindex="0">{escape(source, quote=False)}</pre>\n'


def _open_fence(tokens: Sequence[Token]) -> str:
    last = tokens[-1] if tokens else None
    if last is None or last.type != "fence" or last.map is None:
        return ""
    has_closing_line = last.map[1] - last.map[0] - 1 > last.content.count("\n")
    return "" if has_closing_line else last.markup


def _is_too_deep(tokens: Sequence[Token]) -> bool:
    """Whether markdown-it met its limit: it drops what lies deeper, and nothing may be lost."""
    return any(token.level >= NESTING_MAX - 2 for token in tokens)


def _is_too_much(content: str) -> bool:
    return len(content) > PARAGRAPH_MAX_CHARACTERS or content.count("[") > PARAGRAPH_MAX_BRACKETS


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _without_images(tokens: Sequence[Token]) -> list[Token]:
    """An image would tell its host who reads the answer, so it becomes a link, or inside a link its description."""
    kept: list[Token] = []
    links = 0
    for token in tokens:
        links += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type != "image":
            kept.append(token)
            continue
        words = _text(_description(token) or "image")
        address = str(token.attrs.get("src", ""))
        if links or not address:
            kept.append(words)
        else:
            kept += [
                Token("link_open", "a", 1, attrs={"href": address}),
                words,
                Token("link_close", "a", -1),
            ]
    return kept


def _description(image: Token) -> str:
    children = image.children or []
    return "".join(" " if child.type.endswith("break") else child.content for child in children).strip()


def _align(token: Token) -> None:
    """The policy of the pages forbids style attributes."""
    style = str(token.attrs.pop("style", ""))
    if style:
        token.attrs["align"] = style.removeprefix("text-align:")


@lru_cache(maxsize=256)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class _TooSlow(Exception):
    pass


def _render_code(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    words = token.info.split(maxsplit=1)
    lexer = _lexer(words[0].lower()[:40]) if words and _is_lexable(token.content) else None
    attributes, code = "", escape(token.content, quote=False)
    if lexer is not None:
        with suppress(_TooSlow):
            code = pygments.format(_in_time(lexer.get_tokens(token.content)), _FORMATTER)
            attributes = f' data-language="{escape(lexer.aliases[0])}"'
    return f'<pre class="highlight"{attributes} tabindex="0"><code>{code}</code></pre>\n'


def _is_lexable(code: str) -> bool:
    return len(code) <= HIGHLIGHT_MAX_CHARACTERS and not _LONG_LINE_OR_GAP.search(code)


def _in_time(lexed: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    until = time.perf_counter() + HIGHLIGHT_MAX_SECONDS
    for pair in lexed:
        yield pair
        if time.perf_counter() > until:
            raise _TooSlow


def _parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING_MAX})
    md.enable(["table", "strikethrough"])
    # A definition further down would change a block that was shown long before it.
    md.disable(["reference", "html_block", "html_inline"])
    md.use(math_plugin)
    md.validateLink = lambda url: bool(_LINK.match(url))  # type: ignore[method-assign]
    md.add_render_rule("fence", _render_code)
    md.add_render_rule("code_block", _render_code)
    md.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    md.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return md


_MD = _parser()
