"""The one place that decides what may be known of a model, by whom and when.

No template, serializer or frame reads a model's name, figures or errors but through here. Before the reveal of a blind
battle nothing that leaves the server names a model or lets it be guessed: no slug, name, organisation, endpoint, time,
token count, price or upstream error.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _

from battles.models import Battle, Redraw, Response, Side
from leaderboard.models import Rating
from providers.adapters.base import WAKING, ErrorKind
from providers.errors import SENTENCES
from providers.models import GeneratedText
from providers.usage_summary import Figures

HIDDEN_KIND = "unavailable"


def is_revealed(battle: Battle) -> bool:
    """Whether the models of this battle may be named to those who may see it."""
    return not battle.is_blind or battle.revealed_at is not None


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


def place_shown(battle: Battle, place: int | None) -> tuple[int | None, str]:
    """The place in line of an answer that waits for one, and a sentence about it; no number while the models are
    hidden, since two sides in one line would tell that they share an endpoint."""
    if place is None:
        return None, ""
    if not is_revealed(battle):
        return None, _("Waiting for a free place")
    if place == WAKING:
        return None, _("Waiting for the model to wake up, which can take a minute")
    if place == 1:
        return place, _("Next in line")
    return place, _("Number %(place)d in line") % {"place": place}


def usage_concealed(user_id: int, since: date) -> dict[tuple[date, int], Figures]:
    """What this person's battles used that they have not voted on, by day (UTC) and model id: beside a battle, a list
    of the models that were asked, or what they cost, would name them."""
    hidden = Response.objects.filter(
        turn__battle__owner=user_id,
        turn__battle__is_blind=True,
        turn__battle__revealed_at=None,
        finished_at__gte=datetime.combine(since, time(), UTC),
    )
    rows = (
        hidden.annotate(day=TruncDate("finished_at", tzinfo=UTC))
        .values("day", "model_id")
        .annotate(
            requests=Count("pk"),
            failures=Count("pk", filter=Q(status=Response.Status.FAILED)),
            cached=Count("pk", filter=Q(is_cached=True)),
            input=Sum("input_tokens", filter=Q(is_cached=False), default=0),
            output=Sum("output_tokens", filter=Q(is_cached=False), default=0),
            dollars=Sum("cost", default=Decimal(0)),
        )
        .order_by()
    )
    concealed = {
        (row["day"], row["model_id"]): Figures(
            row["requests"], row["failures"], row["cached"], row["input"], row["output"], row["dollars"]
        )
        for row in rows
    }
    left = Redraw.objects.filter(
        side__battle__owner=user_id,
        side__battle__is_blind=True,
        side__battle__revealed_at=None,
        created_at__gte=datetime.combine(since, time(), UTC),
    )
    for redraw in left:
        key = (redraw.created_at.astimezone(UTC).date(), redraw.model_id)
        concealed[key] = concealed.get(key, Figures()) + Figures(requests=1, failures=1)
    return concealed


def takes_images(battle: Battle) -> bool:
    """Whether a prompt with images can be offered. While the models are hidden it always is: else every reader would
    learn that a side cannot see, and not only who tries."""
    return not is_revealed(battle) or all(side.model.sees_images for side in battle.sides.all())


def sight_missing(battle: Battle) -> str:
    """What to say to somebody who sends an image to sides of which some cannot see; empty where all can."""
    unseeing = [side.model.name for side in battle.sides.all() if not side.model.sees_images]
    if not unseeing:
        return ""
    if not is_revealed(battle):
        return _(
            "In this battle no images can be sent. Take them out, or start a new battle with them: then only models "
            "that can look at images are drawn."
        )
    return _("%(names)s cannot look at images. Take the images out, or choose models that can.") % {
        "names": _(" and ").join(unseeing)
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
