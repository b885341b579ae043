"""All battles of a person as plain data, for their own export. What tells a model comes from `blinding`."""

from collections.abc import Iterator
from typing import Any

from accounts.models import User
from battles import blinding
from battles.models import Battle, Preference, Response, Turn
from battles.selectors import battles_stored
from battles.state import preference_state

CHUNK = 100


def battles_own(owner: User) -> Iterator[dict[str, Any]]:
    """Each with its turns, standing answers and vote, those that were deleted and are still stored with them."""
    for battle in battles_stored(owner=owner).iterator(chunk_size=CHUNK):
        yield battle_own(battle)


def battle_own(battle: Battle) -> dict[str, Any]:
    preference = next(iter(battle.preferences.all()), None)
    return {
        "id": str(battle.id),
        "mode": battle.mode,
        "category": battle.category,
        "language": battle.language,
        "system_prompt": battle.system_prompt,
        "created_at": battle.created_at,
        "revealed_at": battle.revealed_at,
        "deleted_at": battle.deleted_at,
        "is_shared": battle.share_token is not None,
        "sides": [blinding.side_shown(battle, side, {}) for side in battle.sides.all()],
        "turns": [_turn(battle, turn) for turn in battle.turns.all()],
        "preference": preference and _preference(preference),
    }


def _turn(battle: Battle, turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "prompt": turn.prompt,
        "created_at": turn.created_at,
        "images": [str(image.id) for image in turn.images.all()],
        "responses": [_response(battle, response) for response in turn.responses.all()],
    }


def _response(battle: Battle, response: Response) -> dict[str, Any]:
    kind, _ = blinding.failure_shown(battle, response)
    return {
        "id": str(response.id),
        "side": response.side.label,
        "attempt": response.attempt,
        "status": response.status,
        "failure": kind,
        "text": response.text,
        "reasoning": response.reasoning,
        "metrics": blinding.metrics_shown(battle, response),
    }


def _preference(preference: Preference) -> dict[str, Any]:
    return preference_state(preference) | {"turns": preference.turns, "decided_ms": preference.decided_ms}
