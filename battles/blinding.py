"""The one place that decides what may be known of a model, by whom and when.

No template, serializer or frame reads a model's name, figures or errors but through here. Before the reveal of a blind
battle nothing that leaves the server names a model or lets it be guessed: no slug, name, organisation, endpoint, time,
token count, price or upstream error.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from battles.models import Battle, Response, Side
from leaderboard.models import Rating
from providers.adapters.base import ErrorKind
from providers.errors import SENTENCES
from providers.models import GeneratedText

HIDDEN_KIND = "unavailable"


def is_revealed(battle: Battle) -> bool:
    """Whether the models of this battle may be named to those who may see it."""
    return battle.mode == Battle.Mode.NAMED or battle.revealed_at is not None


def side_shown(
    battle: Battle, side: Side, ratings: Mapping[int, Rating], changes: Mapping[int, float] | None = None
) -> dict[str, Any]:
    """A side as its viewer may see it. `ratings` and their `changes` since the vote are by model id, and read only
    after the reveal."""
    if not is_revealed(battle):
        name = _("Assistant %(label)s") % {"label": side.label.upper()}
        return {"label": side.label, "name": name, "model": None}
    model = side.model
    rating = ratings.get(model.pk)
    return {
        "label": side.label,
        "name": model.name,
        "model": {
            "slug": model.slug,
            "name": model.name,
            "organisation": model.organisation,
            "url": model.url,
            "rating": rating and rating.rating,
            "rating_lower": rating and rating.rating_lower,
            "rating_upper": rating and rating.rating_upper,
            "rating_change": (changes or {}).get(model.pk),
            "rank": rating and rating.rank,
        },
    }


def metrics_shown(battle: Battle, response: GeneratedText) -> dict[str, Any] | None:
    """Milliseconds, tokens and US dollars of a response that has ended; None while they would tell."""
    if not is_revealed(battle) or response.is_live:
        return None
    return {
        "latency_ms": response.latency_ms,
        "first_token_ms": response.first_token_ms,
        "input_tokens": response.input_tokens,
        "output_tokens": response.output_tokens,
        "cost": None if response.cost is None else float(response.cost),
    }


def failure_shown(battle: Battle, response: GeneratedText) -> tuple[str, str]:
    """The kind of a failure and one sentence about it; the same for every kind while the models are hidden."""
    if response.status == Response.Status.INTERRUPTED:
        return "interrupted", _("The server was restarted while this was written. You can try again.")
    if response.status != Response.Status.FAILED:
        return "", ""
    if not is_revealed(battle) or not response.error_kind:
        return HIDDEN_KIND, _("This assistant could not answer. You can try again.")
    return response.error_kind, SENTENCES[ErrorKind(response.error_kind)]
