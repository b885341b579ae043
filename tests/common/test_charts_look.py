"""Colours hold their contrast in light and dark, pages and files agree, and a PNG shows words without system fonts."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image

from common.charts.distribution import Histogram
from common.charts.figure import Figure, svg_file, svg_inline
from common.charts.heatmap import FAINTEST, STRONG
from common.charts.paint import PAINTS, SERIES, colour_of, looks_of
from common.charts.registry import KINDS
from common.charts.views import chart_response
from common.errors import NotFound
from tests.common.charts import every_kind

STYLES = Path("static/css/charts.css").read_text()
TOKENS = Path("static/css/tokens.css").read_text()
FIGURES = every_kind(["one", "two", "three"], [1.0, 2.0, 4.0])


def channels(code: str) -> list[float]:
    return [int(code[at : at + 2], 16) for at in (1, 3, 5)]


def luminance(rgb: list[float]) -> float:
    """Source: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance"""
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_series_can_be_seen_and_every_word_can_be_read(theme: int) -> None:
    ground = channels(PAINTS["ground"][theme])
    for at in range(SERIES):
        assert contrast(channels(PAINTS[f"c{at}"][theme]), ground) >= 3
    for words in ("ink", "soft"):
        assert contrast(channels(PAINTS[words][theme]), ground) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("paint", ["high", "low"])
def test_words_on_any_shade_of_a_cell_can_be_read(paint: str, theme: int) -> None:
    ground, ink = channels(PAINTS["ground"][theme]), channels(PAINTS[paint][theme])
    for at in range(101):
        opacity = FAINTEST + (1 - FAINTEST) * at / 100
        cell = [g * (1 - opacity) + i * opacity for g, i in zip(ground, ink, strict=True)]
        words = channels(PAINTS["on-strong" if opacity > STRONG else "on-pale"][theme])
        assert contrast(cell, words) >= 4.5, opacity


def test_the_stylesheet_says_the_same_colours() -> None:
    for name, (light, dark) in PAINTS.items():
        value = re.search(rf"--chart-{name}: (.*);", STYLES)
        assert value is not None, name
        token = re.fullmatch(r"var\((--[a-z-]+)\)", value[1])
        said = re.search(rf"{token[1]}: (.*);", TOKENS)[1] if token else value[1]  # type: ignore[index]
        assert said == f"light-dark({light}, {dark})"


def test_every_class_in_a_drawing_has_its_rule() -> None:
    used = {
        name
        for figure in FIGURES
        for each in re.findall(r'class="([^"]*)"', svg_inline(figure))
        for name in each.split()
    }
    assert used
    assert all(f".chart .{name} " in STYLES for name in used)


def test_a_file_carries_its_colours_and_no_classes() -> None:
    for figure in FIGURES:
        svg = svg_file(figure)
        assert "class=" not in svg
        assert "var(" not in svg


def test_a_model_has_one_colour_everywhere_and_lines_of_one_colour_differ() -> None:
    assert colour_of("openai/gpt-4.1") == colour_of("openai/gpt-4.1") == "c0"
    keys = [f"m{at}" for at in range(20)]
    looks = looks_of(keys)
    assert [look.paint for look in looks] == [colour_of(key) for key in keys]
    same = [look for look in looks if look.paint == looks[0].paint]
    assert len(set(same)) == min(len(same), 4)
    assert {colour_of(f"m{at}") for at in range(200)} == {f"c{at}" for at in range(SERIES)}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.kind)
def test_a_png_is_a_picture_with_ink_on_it(figure: Figure) -> None:
    response = chart_response(figure, "png", scale=1)
    picture = Image.open(io.BytesIO(response.content))
    assert picture.format == "PNG"
    assert len(set(picture.convert("L").resize((400, 400)).tobytes())) > 10


def test_a_png_has_words_without_the_fonts_of_the_system() -> None:
    bare = Histogram(title=" ", bins=(), nothing=" ")
    said = Histogram(title="Words", bins=(), nothing="Words")

    def ink(figure: Figure) -> int:
        picture = Image.open(io.BytesIO(chart_response(figure, "png", scale=1).content)).convert("L")
        return sum(value < 128 for value in picture.tobytes())

    assert ink(bare) == 0
    assert ink(said) > 100


def test_a_very_large_picture_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.charts.png.MOST_PIXELS", 90_000)
    content = chart_response(FIGURES[0], "png", scale=50).content
    width, height = Image.open(io.BytesIO(content)).size
    assert 80_000 < width * height < 100_000


def test_another_ending_is_not_found() -> None:
    with pytest.raises(NotFound):
        chart_response(FIGURES[0], "exe")


def test_every_kind_is_registered_under_its_name() -> None:
    assert {figure.kind for figure in FIGURES} == set(KINDS)
    assert all(KINDS[figure.kind] is type(figure) for figure in FIGURES)
