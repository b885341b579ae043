"""Model output to HTML: the only renderer there is. Model output is hostile input.

A streamed answer and a stored one go through the same machine, so they look the same. It cuts the text into runs of
top-level blocks that nothing which follows can change; each run is parsed, sanitised and sent once.
"""

import re

from common.markdown_html import OpenFence, plain_html, run_html

FORMATTED_MAX_CHARACTERS = 200_000
RUN_MAX_CHARACTERS = 50_000  # the longest that the event loop is held for one run: about half a second at the worst

_FENCE = re.compile(r" {0,3}(`{3,})[^`]*$| {0,3}(~{3,})")
_MATHS = re.compile(r" {0,3}(?:\$\$|\\\[)")
_LIST_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_NOT_INDENTED = re.compile(r" {0,3}[^ \t\n]")
# The start of a line that cannot continue a list, told from as few characters as possible.
_NOT_OF_A_LIST = re.compile(r"[^-+*\d \t\n]|[-+*][^ \t\n]|\d{1,9}[^\d.)]|\d{1,9}[.)][^ \t\n]|\d{10}")
_DECIDED_AFTER_CHARACTERS = 12
# They turn the direction of what follows, past the end of an answer. As numbers, or they would do it here.
_BIDI_CONTROLS = "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_BIDI = re.compile(f"[{_BIDI_CONTROLS}]")


def render(text: str) -> str:
    """The sanitised HTML of a whole answer."""
    stream = BlockStream()
    stream.feed(text)
    return stream.finish()


class BlockStream:
    """Formats markdown while it arrives.

    The result depends on the text alone, not on how it was split. Link reference definitions are not used, since one
    at the end would change every block before it; they stay as written. Text past FORMATTED_MAX_CHARACTERS is shown
    unformatted. Feeding a piece without a line break costs next to nothing.
    """

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._run: list[str] = []  # the complete lines after the last finished block
        self._line: list[str] = []  # the pieces of the line that is still growing
        self._line_length = 0
        self._consumed = 0  # characters in complete lines
        self._after_carriage_return = False
        self._is_plain = False
        self._is_finished = False
        self._begin_run()

    @property
    def tail(self) -> str:
        """The plain text after the last finished block."""
        return "".join(self._run) + "".join(self._line)

    @property
    def html(self) -> str:
        """All finished blocks."""
        return "".join(self._blocks)

    def feed(self, text: str) -> list[str]:
        """Takes the next piece; returns the HTML of the blocks that it finished."""
        before = len(self._blocks)
        lines = self._normalised(text).split("\n")
        for line in lines[:-1]:
            self._line.append(line)
            whole = "".join(self._line)
            self._line.clear()
            self._line_length = 0
            self._take(whole)
        if lines[-1]:
            self._grow(lines[-1])
        return self._blocks[before:]

    def finish(self) -> str:
        """The HTML of everything; the end of the text finishes what is open."""
        if not self._is_finished:
            self._is_finished = True
            if self._line:
                whole = "".join(self._line)
                self._line.clear()
                self._take(whole)
            self._flush(is_last=True)
        return self.html

    def _normalised(self, text: str) -> str:
        if "\r" in text or self._after_carriage_return:
            if self._after_carriage_return and text.startswith("\n"):
                text = text[1:]
                self._after_carriage_return = False
            if text:
                self._after_carriage_return = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not text.isascii() or "\0" in text:
            text = _BIDI.sub("", _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text))
        return text

    def _begin_run(self) -> None:
        self._has_text = False
        self._may_be_list = False
        self._may_be_maths = False
        self._is_indented = False
        self._is_after_blank = False
        self._fence = ""

    def _grow(self, piece: str) -> None:
        """Adds to the open line; its first characters may tell that the run before it is finished."""
        self._line.append(piece)
        if (
            self._is_after_blank
            and not self._fence
            and not self._is_plain
            and self._line_length <= _DECIDED_AFTER_CHARACTERS
        ):
            self._end_run_before("".join(self._line)[:_DECIDED_AFTER_CHARACTERS])
        self._line_length += len(piece)

    def _take(self, line: str) -> None:
        """One complete line, without its end."""
        is_blank = not line.strip(" \t")
        if self._is_after_blank and not is_blank and not self._fence and not self._is_plain:
            self._end_run_before(line + "\n")
        self._consumed += len(line) + 1
        self._is_plain = self._is_plain or self._consumed > FORMATTED_MAX_CHARACTERS
        self._run.append(line + "\n")
        if self._is_plain:
            return
        if self._fence:
            if re.fullmatch(rf" {{0,3}}{self._fence}{self._fence[0]}*[ \t]*", line):
                self._fence = ""
                self._flush()
        elif is_blank:
            if self._has_text and not self._may_be_list and not self._is_indented:
                self._flush()
            else:
                self._is_after_blank = self._has_text
        else:
            self._classify(line)

    def _classify(self, line: str) -> None:
        """Notes what a line with text means for where its run can end."""
        self._has_text = True
        self._is_after_blank = False
        self._is_indented = not _NOT_INDENTED.match(line)
        if _LIST_ITEM.match(line):
            self._may_be_list = True
        elif _MATHS.match(line):
            self._may_be_maths = True
        # A fence inside maths is none, and one that is indented after a list may belong to an item: then the parser
        # tells, in _flush.
        elif (
            (fence := _FENCE.match(line))
            and not self._may_be_maths
            and not (self._may_be_list and line.startswith(" "))
        ):
            self._fence = fence[1] or fence[2]

    def _end_run_before(self, line: str) -> None:
        pattern = _NOT_OF_A_LIST if self._may_be_list else _NOT_INDENTED
        if pattern.match(line):
            self._is_after_blank = False
            self._flush()

    def _flush(self, *, is_last: bool = False) -> None:
        source = "".join(self._run)
        html = ""
        if self._is_plain or len(source) > RUN_MAX_CHARACTERS:
            html = plain_html(source)
        elif self._has_text:
            try:
                html = run_html(source, is_last=is_last)
            except OpenFence as fence:
                self._fence = fence.marker
                return
        self._run.clear()
        self._begin_run()
        if html:
            self._blocks.append(html)
