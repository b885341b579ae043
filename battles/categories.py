"""What a prompt is about, by the rules in category_rules.yaml: words and signs in several languages."""

import re
from functools import cache
from pathlib import Path

import yaml
from django.conf import settings

from battles.models import Category

LOOKED_AT_CHARACTERS = 4_000
RULES = Path(__file__).with_name("category_rules.yaml")

Rule = tuple[Category, int, re.Pattern[str]]


def category_of(prompt: str) -> Category:
    """The category whose rules weigh most; general where none says anything."""
    text = prompt[:LOOKED_AT_CHARACTERS]
    scores: dict[Category, int] = {}
    for category, weight, rule in rules_read(settings.CATEGORY_RULES or str(RULES)):
        if rule.search(text):
            scores[category] = scores.get(category, 0) + weight
    return max(scores, key=lambda category: scores[category]) if scores else Category.GENERAL


@cache
def rules_read(path: str) -> tuple[Rule, ...]:
    """The rules of a file, in its order. Raises ValueError, naming the category, for what is no rule."""
    found: list[Rule] = []
    for category, rules in yaml.safe_load(Path(path).read_text(encoding="utf-8")).items():
        for rule in rules:
            try:
                pattern = re.compile(rule["pattern"], re.IGNORECASE | re.MULTILINE)
                found.append((Category(category), int(rule["weight"]), pattern))
            except (re.error, KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: {category}: {error}") from error
    return tuple(found)
