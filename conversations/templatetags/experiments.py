"""Figures of experiments as a reader sees them."""

from json import dumps

from django import template

from common.charts.numbers import say
from conversations.experiments.figures import Measure

register = template.Library()
SMALLEST_P = 0.0001


@register.filter
def measured(value: float, what: Measure) -> str:
    """A value of a measure: three figures, or per cent of a share."""
    return say(value, step=0.001, percent=True) if what.is_share else say(value)


@register.filter
def signed(value: float) -> str:
    """A number from -1 to 1."""
    return say(value, step=0.01)


@register.filter
def json(value: object) -> str:
    """For a `data-` attribute, which escapes it."""
    return dumps(value)


@register.filter
def p_value(value: float) -> str:
    """A probability as papers print it."""
    return f"< {SMALLEST_P}" if value < SMALLEST_P else f"{value:.4f}"
