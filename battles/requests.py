"""What a side is asked: its own history in messages, and where to send them. Reads loaded rows only."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from battles.models import Battle, Response, Turn
from providers.adapters.base import Image, Message, Target
from providers.answer_store import answer_kept_for
from providers.kept_answers import KeptAnswer
from providers.selectors import target_for

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """One response that is to be written, and all that is needed to ask for it."""

    response: Response
    target: Target
    messages: tuple[Message, ...]
    kept: KeptAnswer | None = None


def request_for(*, battle: Battle, turns: Sequence[Turn], response: Response) -> Request:
    """The request for `response`, which answers the last of `turns`; the earlier ones have their responses loaded."""
    target = target_for(response.model)
    if battle.system_prompt:
        parts = [part for part in (target.system_prompt, battle.system_prompt) if part]
        target = replace(target, system_prompt="\n\n".join(parts))
    return Request(response, target, tuple(_messages(turns, response)))


def with_kept_answer(request: Request, *, user_id: int) -> Request:
    """The request with an answer from the store, where there is one that this person has not had yet."""
    kept = answer_kept_for(
        model=request.response.model, target=request.target, messages=request.messages, user_id=user_id
    )
    return replace(request, kept=kept)


def _messages(turns: Sequence[Turn], response: Response) -> list[Message]:
    """The person's messages and this side's answers. Messages that follow each other, because the side failed in
    between, become one: many chat templates refuse two in a row."""
    messages: list[Message] = []
    unanswered: list[Turn] = []
    for turn in turns[:-1]:
        unanswered.append(turn)
        answer = next((r for r in turn.responses.all() if r.side_id == response.side_id and r.is_answer), None)
        if answer:
            messages += [_asked(unanswered, response), Message("assistant", answer.text)]
            unanswered = []
    return [*messages, _asked([*unanswered, turns[-1]], response)]


def _asked(turns: Sequence[Turn], response: Response) -> Message:
    """One message of the person. Images go only to a model that sees: it may have lost its sight since."""
    images = [image for turn in turns for image in _images(turn)] if response.model.sees_images else []
    return Message("user", "\n\n".join(turn.prompt for turn in turns), tuple(images))


def _images(turn: Turn) -> list[Image]:
    images = []
    for image in turn.images.all():
        try:
            with image.file.open("rb") as file:
                images.append(Image(image.media_type, file.read()))
        except OSError as error:
            log.error("The file of image %s cannot be read, so it is left out: %s", image.pk, error)
    return images
