"""Figures of the leaderboard as a reader sees them."""

from django import template
from django.template.defaultfilters import floatformat
from django.urls import reverse

from common.charts.text import clean
from leaderboard.methods import Standing

register = template.Library()
MISSING = "\N{EN DASH}"


@register.filter
def percent(share: float | None) -> str:
    """A share from 0 to 1 with one decimal."""
    return MISSING if share is None else f"{floatformat(100 * share, 1)} %"


@register.filter
def figure(standing: Standing, scale: str) -> str:
    """A rating with half of its interval, on the scale of its method."""
    value, half = standing.place.rating, standing.half_width
    if value is None:
        return MISSING
    if scale == "share":
        return percent(value) if half is None else f"{floatformat(100 * value, 1)} ± {floatformat(100 * half, 1)} %"
    return floatformat(value, 0) if half is None else f"{floatformat(value, 0)} ± {floatformat(half, 0)}"


@register.filter
def drawn(words: str) -> str:
    """Words as a drawing may hold them: without what XML forbids, and without what turns the direction of reading."""
    return clean(words)


@register.filter
def chart_address(name: str) -> str:
    """Where a chart's files are, without their ending."""
    return reverse("leaderboard:chart", args=[name, "svg"]).removesuffix(".svg")
