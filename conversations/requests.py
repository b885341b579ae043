"""What an agent is asked: the history from its own side, and where to send it. Reads loaded rows only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from conversations.models import Agent, Conversation, Side, Turn
from providers.adapters.base import Message, Target
from providers.client import merged_sampling
from providers.selectors import target_for

# An agent that would write forever is cut off here, unless its model or the person says otherwise.
TURN_MAX_TOKENS = 1_024
MODERATOR = "[Moderator] "
# What the agent who begins is told where there is no seed prompt, as in some imports.
BEGIN = "Please begin."


@dataclass(frozen=True, slots=True)
class Request:
    """One turn that is to be written, and all that is needed to ask for it."""

    turn: Turn
    target: Target
    messages: tuple[Message, ...]


def request_for(*, conversation: Conversation, agent: Agent, turns: Iterable[Turn], turn: Turn) -> Request:
    """The request for `turn`, which follows on `turns`; the agent has its model loaded."""
    assert agent.model is not None, "an agent without a model is never asked"
    target = target_of_agent(agent, target_for(agent.model), seed=conversation.seed)
    return Request(turn, target, tuple(history(conversation, Side(agent.side), turns)))


def target_of_agent(agent: Agent, target: Target, *, seed: int | None) -> Target:
    """Its model's `target` with the part that the agent plays, and how it is sampled."""
    parts = [target.system_prompt, agent.system_prompt]
    if agent.persona:
        parts.append(f"Who you are: {agent.persona}")
    own = agent.sampling
    wanted = replace(own, max_tokens=own.max_tokens or target.sampling.max_tokens or TURN_MAX_TOKENS, seed=seed)
    return replace(
        target,
        system_prompt="\n\n".join(part for part in parts if part),
        sampling=merged_sampling(target.sampling, wanted),
    )


def history(conversation: Conversation, side: Side, turns: Iterable[Turn]) -> list[Message]:
    """The conversation as this agent knows it: its own lines as the assistant's, all else as the user's.

    Only the agent who begins knows the seed prompt. Lines of one role that follow each other become one message: many
    chat templates refuse two in a row.
    """
    messages: list[Message] = []
    if side == conversation.first_side:
        messages.append(Message("user", conversation.seed_prompt or BEGIN))
    for turn in turns:
        if not turn.is_answer:
            continue
        text = MODERATOR + turn.text if turn.speaker == Turn.Speaker.MODERATOR else turn.text
        role = "assistant" if turn.speaker == side else "user"
        if messages and messages[-1].role == role:
            text = f"{messages.pop().content}\n\n{text}"
        messages.append(Message("assistant" if role == "assistant" else "user", text))
    return messages
