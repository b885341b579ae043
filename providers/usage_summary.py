"""What one person asked in this calendar month (UTC), added up for the page and the API."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, timedelta
from decimal import Decimal

from django.utils import timezone

from providers.models import LanguageModel, Usage
from providers.usage import Budget, budget_of

# The drawing's own units; the page scales it.
BAR, GAP, HEIGHT = 16, 4, 120


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of answers and tokens, and US dollars."""

    requests: int = 0
    failures: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def less(self, other: "Figures") -> "Figures":
        """Never below nothing: what is taken away may have been counted a moment later."""
        return Figures(
            *(max(getattr(self, name) - getattr(other, name), type(getattr(self, name))()) for name in NAMES)
        )


NAMES = tuple(each.name for each in fields(Figures))
# By day and id of the language model.
Concealed = Mapping[tuple[date, int], Figures]


@dataclass(frozen=True, slots=True)
class ModelUse:
    model: LanguageModel
    figures: Figures


@dataclass(frozen=True, slots=True)
class DayUse:
    """One day, and its bar in the drawing's units."""

    day: date
    figures: Figures
    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """`days` are all days of the month so far; `models` come in the order of cost. `spent` is without what is
    `concealed`, which is a number of answers."""

    today: Figures
    month: Figures
    models: list[ModelUse]
    days: list[DayUse]
    budget: Budget | None
    concealed: int
    is_drawn_by_cost: bool = field(default=False)

    @property
    def width(self) -> int:
        return len(self.days) * (BAR + GAP) + GAP

    @property
    def highest(self) -> Decimal:
        """What the highest bar stands for: US dollars or answers."""
        return max(day.figures.cost if self.is_drawn_by_cost else Decimal(day.figures.requests) for day in self.days)

    @property
    def percent(self) -> int:
        """How much of the budget is spent, for a bar; 100 at most."""
        if self.budget is None or self.budget.is_spent:
            return 100 if self.budget else 0
        return int(min(self.month.cost / self.budget.limit, Decimal(1)) * 100)


def usage_summary(*, user_id: int, concealed: Concealed | None = None) -> UsageSummary:
    """A person's use of this month without what is `concealed`: answers whose models they may not know yet."""
    today = timezone.now().astimezone(UTC).date()
    first, concealed = today.replace(day=1), concealed or {}
    rows = Usage.objects.filter(user=user_id, day__gte=first).select_related("model")
    by_model: dict[LanguageModel, Figures] = defaultdict(Figures)
    by_day: dict[date, Figures] = defaultdict(Figures)
    for row in rows:
        figures = Figures(*(getattr(row, name) for name in NAMES))
        figures = figures.less(concealed.get((row.day, row.model_id), Figures()))
        if figures.requests:
            by_model[row.model] += figures
            by_day[row.day] += figures
    month = sum(by_day.values(), Figures())
    is_by_cost = month.cost > 0
    models = [ModelUse(model, figures) for model, figures in by_model.items()]
    models.sort(key=lambda use: (-use.figures.cost, -use.figures.requests, use.model.name))
    return UsageSummary(
        today=by_day[today],
        month=month,
        models=models,
        days=_days(first, today, by_day, is_by_cost=is_by_cost),
        budget=budget_of(user_id),
        concealed=sum(figures.requests for figures in concealed.values()),
        is_drawn_by_cost=is_by_cost,
    )


def _days(first: date, today: date, by_day: Mapping[date, Figures], *, is_by_cost: bool) -> list[DayUse]:
    def size(figures: Figures) -> Decimal:
        return figures.cost if is_by_cost else Decimal(figures.requests)

    highest = max((size(figures) for figures in by_day.values()), default=Decimal(0)) or Decimal(1)
    days = []
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        figures = by_day.get(day, Figures())
        height = round(size(figures) / highest * HEIGHT)
        days.append(DayUse(day, figures, GAP + number * (BAR + GAP), HEIGHT - height, height))
    return days
