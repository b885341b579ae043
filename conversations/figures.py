"""Measures as people read them: the rows of a table, and the points of a chart."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from conversations.measures import Figures, Measures

CHART_WIDTH, CHART_HEIGHT, CHART_EDGE = 320, 90, 6


@dataclass(frozen=True, slots=True)
class Chart:
    """A line from 0 at the bottom to 1 at the top, as SVG points in pixels."""

    points: str
    dots: tuple[tuple[float, float], ...]
    width: int = CHART_WIDTH
    height: int = CHART_HEIGHT


def measure_rows(measures: Measures) -> list[tuple[str, str, str]]:
    """Name, agent A, agent B."""
    one, other = measures.agents["a"], measures.agents["b"]
    rows = [
        (_("Words a turn"), *(_trend(f.words, f.words_trend) for f in (one, other))),
        (_("Seconds a turn"), *(_seconds(f) for f in (one, other))),
        (_("Tokens a turn"), *(_number(f.tokens) for f in (one, other))),
        (_("Different words of 50"), *(_share(f.diversity) for f in (one, other))),
        (_("Repeats itself"), *(_share(f.self_repetition) for f in (one, other))),
        (_("Repeats the other"), *(_share(f.cross_repetition) for f in (one, other))),
        (_("Sentences that ask"), *(_share(f.questions) for f in (one, other))),
        (_("Refusals"), str(one.refusals), str(other.refusals)),
    ]
    return [(name, left, right) for name, left, right in rows]


def measure_chart(measures: Measures) -> Chart | None:
    """How alike each turn is to the one before it; None where there are not two such figures."""
    values = measures.similarity
    if len(values) < 2:
        return None
    across, up = CHART_WIDTH - 2 * CHART_EDGE, CHART_HEIGHT - 2 * CHART_EDGE
    dots = tuple(
        (round(CHART_EDGE + across * at / (len(values) - 1), 1), round(CHART_EDGE + up * (1 - value), 1))
        for at, value in enumerate(values)
    )
    return Chart(" ".join(f"{x},{y}" for x, y in dots), dots)


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f}"


def _share(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.0f} %"


def _trend(value: float | None, trend: float | None) -> str:
    """The mean, and by how much it grows a turn where that can be said."""
    return _number(value) if trend is None or abs(trend) < 0.5 else f"{_number(value)} ({trend:+.0f})"


def _seconds(figures: Figures) -> str:
    return "—" if figures.latency_ms is None else f"{figures.latency_ms / 1000:.1f}"
