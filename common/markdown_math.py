"""Maths in markdown: the delimiters that models use, and LaTeX to MathML, so that no script is needed to show it.

Inline: `$…$`, `\\(…\\)`, `$$…$$`, `\\[…\\]`. On lines of its own: `$$…$$` and `\\[…\\]`, without a blank line inside.
What cannot be converted stays readable: its source, escaped, in a code element.
"""

import re
from functools import lru_cache
from html import escape, unescape
from typing import Any
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

LATEX_MAX_CHARACTERS = 2_000
BLOCK_MAX_LINES = 100

_TAG_NAMES = """
    math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace msqrt mstyle msub
    msubsup msup mtable mtd mtext mtr munder munderover none
"""
_ATTRIBUTE_NAMES = """
    accent columnalign columnlines columnspacing display displaystyle fence form linethickness lspace mathsize
    mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy
    symmetric width
"""
MATHML_TAGS = frozenset(_TAG_NAMES.split())
MATHML_ATTRIBUTES = frozenset(_ATTRIBUTE_NAMES.split())
# `\hspace{999em}` and its kin could lay text over the rest of the page.
_MODEST = re.compile(r"-?[0-3]?(\.\d+)?(em|ex|%)?|[a-z ]{1,40}|[01]\.\d+em")

_INLINE = (("$$", "$$", True), ("$", "$", False), ("\\(", "\\)", False), ("\\[", "\\]", True))
_BLOCK = {"$$": "$$", "\\[": "\\]"}


def math_plugin(md: MarkdownIt) -> None:
    """Adds the rules and the renderer."""
    md.inline.ruler.before("escape", "math_inline", _inline)
    md.block.ruler.before("fence", "math_block", _block, {"alt": ["paragraph", "blockquote", "list"]})
    md.add_render_rule("math_inline", _render)
    md.add_render_rule("math_block", _render)


@lru_cache(maxsize=1024)
def mathml(latex: str, *, is_display: bool) -> str:
    """The MathML of a formula, or its escaped source when that is too long or not understood."""
    source = f'<code class="math">{escape(latex, quote=False)}</code>'
    if len(latex) > LATEX_MAX_CHARACTERS:
        return source
    try:
        element = convert_to_element(latex, display="block" if is_display else "inline")
        _tame(element)
        return tostring(element, encoding="unicode", short_empty_elements=False)
    except Exception:  # the converter raises about twenty kinds, IndexError and RecursionError among them
        return source


def _tame(element: Element) -> None:
    """Keeps known attributes with modest values. The converter leaves entities for the writer, so they are resolved."""
    for name, value in list(element.attrib.items()):
        if name not in MATHML_ATTRIBUTES or not _MODEST.fullmatch(value):
            del element.attrib[name]
    element.text = unescape(element.text) if element.text else element.text
    element.tail = unescape(element.tail) if element.tail else element.tail
    for child in element:
        _tame(child)


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if source[start] not in "$\\":
        return False
    for opener, closer, is_display in _INLINE:
        if not source.startswith(opener, start):
            continue
        body = start + len(opener)
        end = source.find(closer, body, min(state.posMax, body + LATEX_MAX_CHARACTERS))
        if opener == "$":
            # An amount of money is not a formula: "$5 and $6", "$5-$6".
            while end > 0 and source[end - 1] == "\\":
                end = source.find(closer, end + 1, min(state.posMax, body + LATEX_MAX_CHARACTERS))
            if end > 0 and (source[body].isspace() or source[end - 1].isspace() or source[end + 1 : end + 2].isdigit()):
                return False
        if end < 0 or not source[body:end].strip():
            return False
        if not silent:
            token = state.push("math_inline", "math", 0)
            token.content = source[body:end].strip()
            token.meta = {"is_display": is_display}
        state.pos = end + len(closer)
        return True
    return False


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    closer = _BLOCK.get(state.src[begin : begin + 2])
    if closer is None:
        return False
    lines: list[str] = []
    for line in range(start_line, min(end_line, start_line + BLOCK_MAX_LINES)):
        if line > start_line and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            return False
        begin = state.bMarks[line] + state.tShift[line] + (2 if line == start_line else 0)
        text = state.src[begin : state.eMarks[line]].rstrip()
        if closer not in text:
            lines.append(text)
            continue
        if text.index(closer) != len(text) - 2:
            return False  # more follows on the line: a formula inside a sentence
        lines.append(text[:-2])
        latex = "\n".join(lines).strip()
        if not latex:
            return False
        if not silent:
            token = state.push("math_block", "math", 0)
            token.block = True
            token.content = latex
            token.meta = {"is_display": True}
            token.map = [start_line, line + 1]
            state.line = line + 1
        return True
    return False


def _render(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    html = mathml(token.content, is_display=token.meta["is_display"])
    return f'<div class="math">{html}</div>\n' if token.type == "math_block" else html
