"""What a side is asked: its own history in messages, and where to send them. Reads loaded rows only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from battles.models import Battle, Response, Turn
from providers.adapters.base import Message, Target
from providers.selectors import target_for


@dataclass(frozen=True, slots=True)
class Request:
    """One response that is to be written, and all that is needed to ask for it."""

    response: Response
    target: Target
    messages: tuple[Message, ...]


def request_for(*, battle: Battle, turns: Sequence[Turn], response: Response) -> Request:
    """The request for `response`, which answers the last of `turns`; the earlier ones have their responses loaded."""
    target = target_for(response.side.model)
    if battle.system_prompt:
        parts = [part for part in (target.system_prompt, battle.system_prompt) if part]
        target = replace(target, system_prompt="\n\n".join(parts))
    return Request(response, target, tuple(_messages(turns, response)))


def _messages(turns: Sequence[Turn], response: Response) -> list[Message]:
    """The person's messages and this side's answers. Messages that follow each other, because the side failed in
    between, become one: many chat templates refuse two in a row."""
    messages: list[Message] = []
    unanswered: list[str] = []
    for turn in turns[:-1]:
        unanswered.append(turn.prompt)
        answer = next((r for r in turn.responses.all() if r.side_id == response.side_id and r.is_answer), None)
        if answer:
            messages += [Message("user", "\n\n".join(unanswered)), Message("assistant", answer.text)]
            unanswered = []
    return [*messages, Message("user", "\n\n".join([*unanswered, turns[-1].prompt]))]
