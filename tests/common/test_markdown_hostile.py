"""Whatever a model writes, only the tags, attributes and addresses that we chose reach the page."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.markdown import FORMATTED_MAX_CHARACTERS, render
from common.markdown_html import NESTING_MAX, PARAGRAPH_MAX_CHARACTERS
from common.markdown_math import MATHML_ATTRIBUTES, MATHML_TAGS

TEXT_TAG_NAMES = """
    a blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul
"""
TEXT_TAGS = set(TEXT_TAG_NAMES.split())
ATTRIBUTES = {
    "a": {"href", "title", "target", "rel"},
    "ol": {"start"},
    "pre": {"class", "tabindex", "data-language"},
    "div": {"class", "tabindex"},
    "td": {"align"},
    "th": {"align"},
    "code": {"class"},
    "span": {"class"},
}
VOID = {"br", "hr"}


class Audit(HTMLParser):
    """Walks the HTML as a browser would and objects to anything that is not on the list."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.links: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TEXT_TAGS | MATHML_TAGS, tag
        for name, value in attrs:
            assert name in (MATHML_ATTRIBUTES if tag in MATHML_TAGS else ATTRIBUTES.get(tag, set())), (tag, name)
            assert "javascript" not in (value or "").lower() or name == "title"
        if tag == "a":
            self.audit_link(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def audit_link(self, attributes: dict[str, str | None]) -> None:
        if href := attributes.get("href"):
            assert re.match(r"(https?://|mailto:)", href, re.IGNORECASE), href
            self.links.append(href)
        assert attributes["rel"] == "noopener noreferrer nofollow ugc"

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"declaration {decl!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"instruction {data!r}")


MARKUP = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><g/></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<style>body{display:none}</style>",
    "<link rel=stylesheet href=//evil.example>",
    "<meta http-equiv=refresh content=0>",
    "<base href=//evil.example>",
    "<form action=//evil.example><input name=q autofocus onfocus=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<p style='position:fixed' onclick=alert(1) id=composer class=button>x</p>",
    "<!-- --><!DOCTYPE html><?php ?><![CDATA[x]]>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "</p></div></main></body></html>",
    "<div <p <<<>>> <a href=",
    "<template><slot onslotchange=alert(1)></template>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#x3c;/script>",
]


@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize(
    "frame",
    ["{}", "> {}", "- {}", "    {}", "```html\n{}\n```", "`{}`", "# {}", "| {} |\n|---|\n| {} |", "${}$", "$$\n{}\n$$"],
)
def test_markup_is_shown_and_never_obeyed(markup: str, frame: str) -> None:
    Audit(render(frame.replace("{}", markup)))


@pytest.mark.parametrize("markup", [markup for markup in MARKUP if "&" not in markup and "|" not in markup])
def test_markup_in_a_sentence_stays_readable(markup: str) -> None:
    audit = Audit(render(f"Write `{markup}` here."))
    assert audit.text.strip() == f"Write {markup} here."


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "&#106;avascript:alert(1)",
        "&#x6a;avascript&colon;alert(1)",
        "javascript&colon;alert(1)",
        "%6aavascript:alert(1)",
        "\x01javascript:alert(1)",
        "vbscript:x",
        "data:text/html;base64,PHNjcmlwdD4=",
        "file:///etc/passwd",
        "blob:https://example.org/x",
        "//evil.example",
        "/account/logout/",
        "account/logout/",
        "#composer",
        "?next=x",
        "ftp://example.org",
        "intent://x",
    ],
)
@pytest.mark.parametrize("form", ["[x]({})", "[x](<{}>)", "<{}>", "![x]({})", "[![x]({})]({})", "[x][1]\n\n[1]: {}"])
def test_only_web_and_mail_addresses_become_links(address: str, form: str) -> None:
    assert Audit(render(form.replace("{}", address))).links == []


@pytest.mark.parametrize("address", ["https://example.org/a?b=c&d", "http://example.org", "mailto:a@example.org"])
def test_web_and_mail_addresses_do(address: str) -> None:
    audit = Audit(render(f"[words]({address})"))
    assert audit.links == [address]
    assert audit.text.strip() == "words"


def test_an_image_becomes_a_link_so_that_nobody_learns_who_reads() -> None:
    html = render("![a *fine* chart](https://tracker.example/p.gif?u=1)")
    assert "<img" not in html
    assert Audit(html).links == ["https://tracker.example/p.gif?u=1"]
    assert Audit(html).text.strip() == "a fine chart"


def test_an_image_inside_a_link_becomes_its_description() -> None:
    audit = Audit(render("[![logo](https://tracker.example/p.gif) home](https://example.org)"))
    assert audit.links == ["https://example.org"]
    assert audit.text.strip() == "logo home"


def test_an_image_without_words_is_still_said() -> None:
    assert Audit(render("![](https://tracker.example/p.gif)")).text.strip() == "image"


def test_direction_overrides_do_not_reach_the_page() -> None:
    audit = Audit(render("safe\u202egnp.exe \u2066x\u2069 `\u202d`"))
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", audit.text)


def test_joiners_and_right_to_left_letters_stay() -> None:
    text = "\u05e9\u05dc\u05d5\u05dd \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb"
    assert Audit(render(text)).text.strip() == text


def test_what_is_no_character_becomes_the_replacement_character() -> None:
    assert Audit(render("a\0b\ud800c")).text.strip() == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    "latex",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}",
        r"\class{button}{x}",
        r"\text{</mtext><script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\color{red}x",
        r"\hspace{9999em}x",
        r"\rule{99em}{99em}",
        r"\begin{matrix}<script>&alert(1)\\x\end{matrix}",
        r"\frac",
        r"\left(",
        r"}{",
        r"\notacommand{x}",
        "{" * 1_900,
        r"\sqrt{" * 300,
        "x" * 3_000,
    ],
)
@pytest.mark.parametrize("frame", ["${}$", "\\({}\\)", "$$\n{}\n$$", "\\[\n{}\n\\]"])
def test_hostile_formulas_are_tamed_or_shown_as_source(latex: str, frame: str) -> None:
    html = render(frame.replace("{}", latex))
    Audit(html)
    assert "999" not in re.sub(r">[^<]*<", "><", html)


def test_formulas_become_mathml() -> None:
    assert "<mfrac>" in render(r"$\frac{a}{b}$")
    assert '<div class="math"><math display="block">' in render("$$\nx\n$$")
    assert "<msup>" in render(r"so \(x^2\) is")


@pytest.mark.parametrize("text", ["It costs $5 and $6.", "from $5-$10", "a $ b $ c", "US$ 5, US$ 6", r"\$x\$"])
def test_money_is_not_a_formula(text: str) -> None:
    assert "<math" not in render(text)


def test_code_is_highlighted_in_the_language_that_was_named() -> None:
    html = render('```python\nprint("<b>")\n```')
    assert 'data-language="python"' in html
    assert '<span class="nb">print</span>' in html
    assert "&lt;b&gt;" in html


@pytest.mark.parametrize("name", ["", "klingon", '"><script>alert(1)</script>', "python\x00", "x" * 5_000])
def test_an_unknown_language_is_not_guessed(name: str) -> None:
    html = render(f"```{name}\nimport os\n```")
    Audit(html)
    assert "<span" not in html


def test_headings_leave_the_first_two_levels_to_the_page() -> None:
    assert render("# a\n\n## b\n\n###### c").split("\n")[:3] == ["<h3>a</h3>", "<h3>b</h3>", "<h6>c</h6>"]


def test_nothing_gets_an_id() -> None:
    assert not re.search(r"\bid=", render("# composer\n\n[a](https://x.y#b)\n\n$$\nx\n$$ (composer)"))


def test_a_table_aligns_without_a_style_attribute() -> None:
    html = render("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert '<td align="right">1</td>' in html
    assert '<th align="center">b</th>' in html
    Audit(html)


@pytest.mark.parametrize(
    "text",
    [
        ">" * 500 + " deep",
        "".join("> " * depth + "deep\n" for depth in range(1, 300)),
        "".join("  " * depth + "- deep\n" for depth in range(200)),
        "- " * (NESTING_MAX // 2) + "deep",
        "> " * (NESTING_MAX - 1) + "deep",
    ],
)
def test_what_is_nested_too_deeply_is_shown_as_written(text: str) -> None:
    audit = Audit(render(text))
    assert audit.text.count("deep") == text.count("deep")


@pytest.mark.parametrize(
    "text",
    [
        "a*" * 500_000,
        "word " * 200_000,
        "line\n" * 200_000,
        "para\n\n" * 100_000,
        "[" * 100_000,
        "![" * 50_000,
        "`" * 99_999 + "x",
        "*a_" * 30_000,
        "\\(" * 50_000,
        "- " * 50_000 + "x",
        "$$\n" * 30_000,
        "&" * 60_000,
    ],
    ids=lambda text: text[:6].encode("unicode_escape").decode(),
)
def test_nothing_of_a_huge_answer_is_lost(text: str) -> None:
    audit = Audit(render(text))
    assert len(audit.text) > 0 or "<hr>" in render(text)
    if len(text) > FORMATTED_MAX_CHARACTERS and "\n" not in text:
        assert audit.text.strip() == text.strip()


def test_an_endless_paragraph_is_not_formatted() -> None:
    text = "**a** " * PARAGRAPH_MAX_CHARACTERS
    assert "<strong>" not in render(text)
    assert "**a**" in render(text)


FRAGMENTS = ["[x](", "![x](", "javascript:alert(1)", ")", "`", "```\n", "\n", "\n\n", "> ", "- ", "$", "$$\n", "\\[\n"]
ENDINGS = ["\\(", "\\)", "\\text{", "}", "**", "|a|\n|-|\n|", "<", ">", "&", '"', "'", "https://x.y", "\0", "\u202e"]
PIECES = st.sampled_from(MARKUP + FRAGMENTS + ENDINGS)


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=60))
@settings(max_examples=500)
def test_no_mixture_gets_through(text: str) -> None:
    Audit(render(text))


@given(st.text(alphabet=st.characters(exclude_characters="\0\r", exclude_categories=["Cs", "Cf", "Cc"]), max_size=40))
@settings(max_examples=200)
def test_code_keeps_every_character(text: str) -> None:
    assert Audit(render(f"~~~~\n{text}\n~~~~")).text == f"{text}\n\n" or "~~~~" in text
