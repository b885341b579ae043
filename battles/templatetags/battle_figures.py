"""Figures of a battle as people read them: seconds, dollars, ratings. `static/js/figures.js` says them the same way.

What is not known, or is missing where a template draws a skeleton, is said by nothing at all.
"""

from django import template

register = template.Library()


@register.filter
def seconds(milliseconds: object) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    return f"{milliseconds / 1000:.{2 if milliseconds < 1000 else 1}f} s"


@register.filter
def dollars(cost: object) -> str:
    if not isinstance(cost, int | float):
        return ""
    return f"${cost:.2g}" if cost < 0.01 else f"${cost:.2f}"


@register.filter
def whole(figure: object) -> str:
    return f"{figure:,.0f}" if isinstance(figure, int | float) else ""
