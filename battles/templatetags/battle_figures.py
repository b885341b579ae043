"""Figures of a battle as people read them: seconds, dollars, ratings. `static/js/figures.js` says them the same way."""

from django import template

register = template.Library()


@register.filter
def seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.{2 if milliseconds < 1000 else 1}f} s"


@register.filter
def dollars(cost: float | None) -> str:
    return "" if cost is None else f"${cost:.2g}" if cost < 0.01 else f"${cost:.2f}"


@register.filter
def whole(figure: float | None) -> str:
    return "" if figure is None else f"{figure:,.0f}"
