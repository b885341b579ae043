"""The reasons that a voter may tick. Which are offered is the setting VOTE_REASONS; a vote keeps those of its day."""

from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.errors import TourneyError

# Words for those that come with Tourney, offered or retired.
KNOWN = {
    "correct": _("More correct"),
    "helpful": _("More helpful"),
    "clear": _("Clearer"),
    "instructions": _("Follows the instructions"),
    "style": _("Better style"),
    "harmless": _("Harmless"),
}


class ReasonUnknown(TourneyError):
    code = "reason_unknown"
    message = "Unknown reason."


@dataclass(frozen=True, slots=True)
class Reason:
    slug: str
    label: str


def reasons_offered() -> list[Reason]:
    """Those of the setting, in its order: `slug`, or `slug=its words`."""
    return [_reason(*entry.partition("=")[::2]) for entry in settings.VOTE_REASONS if entry.strip()]


def reasons_shown(slugs: Collection[str]) -> list[Reason]:
    """Those of a stored vote, also where they are no longer offered."""
    offered = {reason.slug: reason for reason in reasons_offered()}
    return [offered.get(slug) or _reason(slug) for slug in slugs]


def reasons_check(slugs: Collection[str]) -> list[str]:
    """Sorted and once each. Raises ReasonUnknown, naming those that are offered."""
    known = [reason.slug for reason in reasons_offered()]
    if unknown := sorted(set(slugs) - set(known)):
        offered = f"Known are: {', '.join(known)}." if known else "No reasons are asked for here."
        raise ReasonUnknown(f"Unknown reason: {', '.join(unknown)}. {offered}", fields={"reasons": unknown})
    return sorted(set(slugs))


def _reason(slug: str, label: str = "") -> Reason:
    slug = slug.strip()
    return Reason(slug, label.strip() or str(KNOWN.get(slug, slug.replace("_", " ").capitalize())))
