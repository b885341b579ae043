"""Conversations as rows, without a model that speaks."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import User
from conversations import services
from conversations.models import Conversation, Side, Turn
from providers.adapters.base import Sampling
from tests import factories


def agents(sampling: Sampling) -> dict[Side, services.AgentSpec]:
    """Two, of a model each."""
    return {side: services.AgentSpec(model=factories.language_model().slug, sampling=sampling) for side in Side}


def conversation(
    owner: User | None = None, lines: Sequence[str] = ("Hello.", "Good day."), *, rules: Any = None, **fields: Any
) -> Conversation:
    """A conversation in which the agents have said `lines` by turns, and that stands still."""
    owner = owner or factories.user()
    wanted = services.NewConversation(
        agents=fields.pop("agents", None) or agents(Sampling(temperature=0.5)),
        seed_prompt=fields.pop("seed_prompt", "Talk."),
        rules=rules or services.Rules(),
    )
    row = services.conversation_create(owner=owner, wanted=wanted)
    models = {agent.side: agent.model for agent in row.agents.all()}
    for number, text in enumerate(lines, 1):
        side = Side.A if number % 2 else Side.B
        now = timezone.now()
        Turn.objects.create(
            conversation=row, position=number, number=number, speaker=side, model=models[side], text=text,
            status=Turn.Status.FINISHED, finish_reason="stop", latency_ms=100 * number, first_token_ms=10,
            input_tokens=7, output_tokens=5, cost=Decimal("0.00001230"), sampling={"temperature": 0.5},
            started_at=now, finished_at=now,
        )  # fmt: skip
    Conversation.objects.filter(pk=row.pk).update(state=Conversation.State.PAUSED, **fields)
    row.refresh_from_db()
    return row
