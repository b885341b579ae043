"""Why a comparison does not count, and how many do not for each reason."""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from leaderboard.models import Comparison


class Exclusion(TextChoices):
    """The reasons; a vote has the first that applies. Voters are not told."""

    AFTER_REVEAL = "after_reveal", _("The models were known already")
    ASKED_IDENTITY = "asked_identity", _("The prompt asked who it is")
    NAMED_ITSELF = "named_itself", _("A model said who it is")
    DUPLICATE = "duplicate", _("The same models on the same prompt, by the same person")
    TOO_FAST = "too_fast", _("Too fast to have read the answers")
    RATE = "rate", _("Too many votes in a short time")
    FLAGGED = "flagged", _("By a person who is flagged")
    WITHDRAWN = "withdrawn", _("Taken back")
    ADMIN = "admin", _("Left out by an administrator")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many comparisons are left out for one reason; `label` is in the reader's language."""

    reason: str
    label: str
    count: int


def exclusions_summary(comparisons: QuerySet[Comparison]) -> list[LeftOut]:
    """The reasons for which some of these comparisons do not count, most frequent first; one query.

    `comparisons` are those that a board would take if they counted: its filter without `exclusion`.
    """
    rows = comparisons.exclude(exclusion="").order_by().values_list("exclusion").annotate(count=Count("pk"))
    labels = dict(Exclusion.choices)
    found = [LeftOut(reason, str(labels.get(reason, reason)), count) for reason, count in rows]
    return sorted(found, key=lambda row: (-row.count, row.reason))
