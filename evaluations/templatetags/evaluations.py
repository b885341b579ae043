"""Figures of a run in a page."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def mean_of(means: Mapping[str, Any], name: str) -> float | None:
    """The mean of one turn or category, where there is one."""
    found = means.get(name)
    return None if found is None else found["mean"]


@register.filter
def percent(share: float | None) -> str:
    """0.125 as 12.5%; nothing for None."""
    return "" if share is None else f"{share:.1%}"
