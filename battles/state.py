"""A battle as plain data, for the pages, the API and the frames alike. What tells a model comes from `blinding`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from battles import blinding, selectors
from battles.models import Battle, Image, Preference, Response, Turn
from common.rendered import render_cached
from leaderboard.selectors import rating_changes, ratings_now
from providers.live import LiveView


def battle_state(battle: Battle, live: Mapping[UUID, LiveView] | None = None) -> dict[str, Any]:
    """The state of a battle from `selectors.battle_whole`; `live` holds what is being written at this moment."""
    preference = next(iter(battle.preferences.all()), None)
    sides = list(battle.sides.all())
    model_ids = [side.model_id for side in sides]
    ratings = ratings_now(model_ids) if blinding.is_revealed(battle) else {}
    changes = rating_changes(model_ids, preference.created_at) if preference else {}
    turns = list(battle.turns.all())
    is_busy = any(response.is_live for turn in turns[-1:] for response in turn.responses.all())
    return {
        "id": str(battle.id),
        "mode": battle.mode,
        "category": battle.category,
        "created_at": battle.created_at.isoformat(),
        "is_revealed": blinding.is_revealed(battle),
        "can_vote": selectors.is_votable(battle),
        "can_prompt": not is_busy,
        "takes_images": blinding.takes_images(battle),
        "preference": preference and preference_state(preference),
        "share_url": battle.share_token and settings.PUBLIC_URL + reverse("battles:shared", args=[battle.share_token]),
        "sides": [blinding.side_shown(battle, side, ratings, changes) for side in sides],
        "turns": [turn_state(battle, turn, list(turn.responses.all()), preference, live) for turn in turns],
    }


def preference_state(preference: Preference) -> dict[str, Any]:
    return {
        "choice": selectors.preference_choice(preference),
        "ranking": preference.ranking,
        "is_withdrawn": preference.withdrawn_at is not None,
        "reasons": preference.reasons,
        "comment": preference.comment,
        "created_at": preference.created_at.isoformat(),
    }


def turn_state(
    battle: Battle,
    turn: Turn,
    responses: list[Response],
    preference: Preference | None,
    live: Mapping[UUID, LiveView] | None = None,
) -> dict[str, Any]:
    return {
        "number": turn.number,
        "prompt": turn.prompt,
        "images": [image_state(image) for image in turn.images.all()],
        "is_open": preference is not None and turn.number > preference.turns,
        "responses": [response_state(battle, response, (live or {}).get(response.id)) for response in responses],
    }


def image_state(image: Image) -> dict[str, Any]:
    """Where an image is, for whoever may see its battle, and its size in pixels."""
    address = reverse("battles:image", args=[image.id])
    return {"id": str(image.id), "url": address, "width": image.width, "height": image.height}


def response_state(battle: Battle, response: Response, view: LiveView | None = None) -> dict[str, Any]:
    """A response as stored, or as it is being written where `view` is given."""
    kind, message = blinding.failure_shown(battle, response)
    reaction = next(iter(getattr(response, "own_reactions", [])), None)
    state = {
        "id": str(response.id),
        "side": response.side.label,
        "status": response.status,
        "attempt": response.attempt,
        "text": response.text,
        "html": "",
        "tail": "",
        "reasoning": response.reasoning,
        "kind": kind,
        "message": message,
        "place": None,
        "waiting": "",
        "reaction": reaction and reaction.value,
        "metrics": blinding.metrics_shown(battle, response),
    }
    if view:
        state |= {"status": view.status, "text": view.text, "reasoning": view.reasoning}
        place, waiting = blinding.place_shown(battle, view.place)
        state |= {"html": view.html, "tail": view.tail, "place": place, "waiting": waiting}
    elif response.text:
        state["html"] = render_cached(response.text)
    return state


def battle_row(battle: Battle) -> dict[str, Any]:
    """A battle in a list, from `selectors.battles_of`."""
    preference = next(iter(battle.preferences.all()), None)
    is_revealed = blinding.is_revealed(battle)
    sides = [blinding.side_shown(battle, side, {}) for side in battle.sides.all()]
    return {
        "id": str(battle.id),
        "mode": battle.mode,
        "category": battle.category,
        "category_label": battle.get_category_display(),
        "created_at": battle.created_at,
        "is_revealed": is_revealed,
        "prompt": getattr(battle, "first_prompt", None) or "",
        "images": getattr(battle, "images", 0),
        "choice": preference and selectors.preference_choice(preference),
        "models": [side["name"] for side in sides] if is_revealed else [],
    }
