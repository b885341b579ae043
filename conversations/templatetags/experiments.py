"""Figures of experiments as a reader sees them."""

from collections.abc import Iterable
from json import dumps

from django import template

from common.charts.numbers import say
from conversations.experiments.figures import Measure
from conversations.sampling import OF_THE_MODEL, value_words

register = template.Library()
SMALLEST_P = 0.0001


@register.filter
def measured(value: float, what: Measure) -> str:
    """A value of a measure: three figures, or per cent of a share."""
    return say(value, step=0.001, percent=True) if what.is_share else say(value)


@register.filter
def percent(value: float) -> str:
    """A share."""
    return say(value, step=0.01, percent=True)


@register.filter
def signed(value: float) -> str:
    """A number from -1 to 1."""
    return say(value, step=0.01)


@register.filter
def listed(values: Iterable[float | None]) -> str:
    """Values of sampling as a field of the form holds them; nothing where the model alone says."""
    written = [value_words(value) for value in values]
    return "" if written == [OF_THE_MODEL] else ", ".join(written)


@register.filter
def json(value: object) -> str:
    """For a `data-` attribute, which escapes it."""
    return dumps(value)


@register.filter
def p_value(value: float) -> str:
    """A probability as papers print it."""
    return f"< {SMALLEST_P}" if value < SMALLEST_P else f"{value:.4f}"
