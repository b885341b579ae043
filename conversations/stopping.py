"""When two agents have said enough. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from conversations.models import Conversation

Reason = Conversation.Reason
# Where a farewell stands, if there is one: near the end of what was said.
FAREWELL_TAIL_CHARACTERS = 240
FAREWELL = re.compile(
    r"\b(good ?-?bye|bye(?:[- ]bye)?|farewell|so long|take care|see you|see ya|until (?:next time|we meet again)"
    r"|till next time|talk (?:to you )?(?:soon|later)|catch you later|good ?night|safe travels"
    r"|have a (?:\w+ )?(?:\w+ )?(?:day|evening|night|morning|afternoon|week|weekend|one|time)"
    r"|auf wiedersehen|tschüss|au revoir|à bientôt|adiós|hasta luego|arrivederci|tot ziens)\b",
    re.IGNORECASE,
)
# Three words of which nine in ten are the same are the same line with a comma moved.
SHINGLE_WORDS = 3
REPETITION_FROM = 0.9
COMPARED_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Rules:
    """How long a conversation may go on. Budgets are in tokens and US dollars; what is empty or None stops nothing."""

    max_turns: int = 10
    stop_phrase: str = ""
    stops_on_goodbye: bool = False
    stops_on_repetition: bool = False
    token_budget: int | None = None
    cost_budget: Decimal | None = None


def rules_of(conversation: Conversation) -> Rules:
    return Rules(**{field.name: getattr(conversation, field.name) for field in fields(Rules)})


def stop_reason(lines: Sequence[str], rules: Rules, *, tokens: int, cost: Decimal) -> Reason | None:
    """Why no further turn is to be taken after `lines`, which the agents said by turns; None where one may be.

    `tokens` and `cost` (US dollars) are what was used so far.
    """
    if rules.stop_phrase and lines and rules.stop_phrase.casefold() in lines[-1].casefold():
        return Reason.STOP_PHRASE
    if rules.stops_on_goodbye and len(lines) >= 2 and all(says_goodbye(line) for line in lines[-2:]):
        return Reason.GOODBYE
    if rules.stops_on_repetition and lines and any(is_repeated(lines[-1], earlier) for earlier in lines[-4:-1]):
        return Reason.REPETITION
    return budget_spent(rules, tokens=tokens, cost=cost) or (
        Reason.MAX_TURNS if len(lines) >= rules.max_turns else None
    )


def budget_spent(rules: Rules, *, tokens: int, cost: Decimal) -> Reason | None:
    """Which budget is used up, if one is."""
    if rules.token_budget is not None and tokens >= rules.token_budget:
        return Reason.TOKEN_BUDGET
    if rules.cost_budget is not None and cost >= rules.cost_budget:
        return Reason.COST_BUDGET
    return None


def says_goodbye(line: str) -> bool:
    """Whether a line ends with a farewell, in English or a few other languages."""
    return bool(FAREWELL.search(line[-FAREWELL_TAIL_CHARACTERS:]))


def is_repeated(line: str, earlier: str) -> bool:
    """Whether two lines are nearly the same: of all runs of three words, nine in ten are in both."""
    one, other = shingles(line), shingles(earlier)
    return bool(one) and len(one & other) >= REPETITION_FROM * len(one | other)


def shingles(text: str, size: int = SHINGLE_WORDS) -> set[tuple[str, ...]]:
    """Every run of `size` words, without case and punctuation; the whole text where it is shorter."""
    words = re.findall(r"\w+", text[:COMPARED_CHARACTERS].casefold())
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))} if words else set()
