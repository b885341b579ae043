"""Where a conversation stands, and what follows. Reads loaded rows only, and writes nothing: turns.py and the player of
experiments do that, each in its own way."""

from dataclasses import dataclass, field
from decimal import Decimal

from django.utils import timezone

from conversations.models import Agent, Conversation, Side, Turn
from conversations.stopping import budget_spent, rules_of, stop_reason

State, Reason = Conversation.State, Conversation.Reason


@dataclass(frozen=True, slots=True)
class Stand:
    """How a conversation comes to stand still; `note` is more about the reason, in words for the owner."""

    state: str
    reason: str
    note: str = ""


@dataclass(slots=True)
class NextTurn:
    """A turn that is to be written, and the failed ones whose place it takes."""

    turn: Turn
    agent: Agent
    failed: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class Course:
    """A conversation with its agents, their models loaded, and every attempt at a turn in order."""

    conversation: Conversation
    attempts: list[Turn]

    @property
    def turns(self) -> list[Turn]:
        """The standing ones, the moderator's lines included."""
        return [turn for turn in self.attempts if turn.is_current]

    @property
    def said(self) -> list[Turn]:
        """What the agents have said, failed turns left out."""
        return [turn for turn in self.turns if turn.number is not None and turn.is_answer]

    def agent(self, side: Side) -> Agent:
        return next(agent for agent in self.conversation.agents.all() if agent.side == side)

    def spent(self) -> tuple[int, Decimal]:
        """Tokens in and out and US dollars of all attempts, those that failed included."""
        tokens = sum((turn.input_tokens or 0) + (turn.output_tokens or 0) for turn in self.attempts)
        return tokens, sum((turn.cost for turn in self.attempts if turn.cost is not None), Decimal(0))

    def stand_before_next(self) -> Stand | None:
        """Why no further turn may begin, whatever was said last."""
        tokens, cost = self.spent()
        spent = budget_spent(rules_of(self.conversation), tokens=tokens, cost=cost)
        if spent or len(self.said) >= self.conversation.max_turns:
            return Stand(State.ENDED, spent or Reason.MAX_TURNS)
        return None

    def stand_after_last(self) -> Stand | None:
        """Why no further turn follows on the one that has ended."""
        last = [turn for turn in self.turns if turn.number is not None][-1:]
        if last and not last[0].is_answer:
            is_failed = last[0].status != Turn.Status.INTERRUPTED
            return Stand(State.PAUSED, Reason.FAILED if is_failed else Reason.INTERRUPTED)
        tokens, cost = self.spent()
        lines = [turn.text for turn in self.said]
        if reason := stop_reason(lines, rules_of(self.conversation), tokens=tokens, cost=cost):
            return Stand(State.ENDED, reason)
        if self.conversation.is_pause_asked:
            return Stand(State.PAUSED, Reason.ASKED, self.conversation.note)
        return None

    def next_turn(self) -> NextTurn:
        """The turn that follows, not stored yet. A failed one at the end is tried again in its place."""
        turns, said = self.turns, self.said
        failed = [turn for turn in turns if turn.number is not None and not turn.is_answer]
        agent = self.agent(next_side(self.conversation, said))
        is_last = bool(failed) and failed[-1] is turns[-1]
        position = failed[-1].position if is_last else max((turn.position for turn in turns), default=0) + 1
        turn = Turn(
            conversation=self.conversation,
            position=position,
            number=len(said) + 1,
            speaker=agent.side,
            model=agent.model,
            attempt=1 + max((earlier.attempt for earlier in self.attempts if earlier.position == position), default=0),
            started_at=timezone.now(),
        )
        return NextTurn(turn, agent, failed)


def next_side(conversation: Conversation, said: list[Turn]) -> Side:
    """Who speaks after these turns of the agents."""
    return Side(said[-1].speaker).other if said else Side(conversation.first_side)
