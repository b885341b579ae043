"""Which two conversations can be compared, so that what is said of them is said of two models. Pure but for the rows.

docs/decisions/0017 says why.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from common.identity import names_itself
from conversations.models import Agent, Conversation, Side
from conversations.sampling import SAMPLED

RULES = (
    "scenario_id", "seed_prompt", "first_side", "max_turns", "stop_phrase", "stops_on_goodbye", "stops_on_repetition",
    "token_budget", "cost_budget",
)  # fmt: skip
PART = ("name", "persona", "system_prompt", *SAMPLED)
SHORTEST_NAME = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """In what two conversations differ: the model of one agent, or of both where each is a model with itself."""

    side: str
    model_a: int
    model_b: int


@dataclass(frozen=True, slots=True)
class Played:
    """A finished conversation, as far as it must be known to find another to compare it with."""

    id: Any
    settings: tuple[Any, ...]
    models: tuple[int, int]


def played(conversation: Conversation) -> Played | None:
    """Needs its agents; None where one of them is no model of the catalogue."""
    agents = {agent.side: agent for agent in conversation.agents.all()}
    first, second = (agents[side].model_id for side in Side)
    if first is None or second is None:
        return None
    parts = tuple(getattr(agents[side], name) for side in Side for name in PART)
    rules = tuple(getattr(conversation, name) for name in RULES)
    return Played(conversation.pk, rules + parts, (first, second))


def difference(one: Played, other: Played) -> Difference | None:
    """What a preference between the two would be about; None where that would be more than one thing."""
    if one.settings != other.settings:
        return None
    (a, b), (other_a, other_b) = one.models, other.models
    if a != other_a and b == other_b:
        return Difference(Side.A.value, a, other_a)
    if a == other_a and b != other_b:
        return Difference(Side.B.value, b, other_b)
    if a == b and other_a == other_b and a != other_a:
        return Difference("", a, other_a)
    return None


def tells_names(conversations: Collection[Conversation]) -> bool:
    """Whether a text that a voter would see names a model of one of the conversations, or an agent says in it which
    one it is; needs their scenarios, their agents with the models, and their turns."""
    agents = [agent for conversation in conversations for agent in conversation.agents.all()]
    names = {name.strip() for agent in agents for name in _names(agent)}
    names = {name for name in names if len(name) >= SHORTEST_NAME}
    said = [turn.text for conversation in conversations for turn in conversation.turns.all()]
    around = [text for conversation in conversations for text in _around(conversation)]
    written = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)
    return any(written.search(text) for text in (*around, *said)) or any(names_itself(text, names) for text in said)


def _names(agent: Agent) -> Iterator[str]:
    if agent.model:
        yield from (agent.model.name, agent.model.slug, agent.model.upstream_id, agent.model.organisation)
        yield agent.model.upstream_id.rpartition("/")[2]


def _around(conversation: Conversation) -> Iterator[str]:
    """What is shown beside the turns."""
    scenario = conversation.scenario
    if scenario:
        yield from (scenario.name, scenario.slug, scenario.category, scenario.name_a, scenario.name_b)
    yield conversation.seed_prompt
