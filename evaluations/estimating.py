"""What a run would take, before it is begun. Reads nothing."""

from dataclasses import dataclass

from evaluations.planning import Plan
from providers.adapters.base import Target
from providers.client import CHARACTERS_A_TOKEN

# Of an answer, before any came; then the mean of those that did.
ANSWER_TOKENS_EXPECTED = 350
JUDGMENT_TOKENS_EXPECTED = 200
JUDGE_PROMPT_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is still to be asked, and about what it will cost in US dollars; None where a price is not known. Matches
    ask nobody and cost nothing."""

    answers: int
    judgments: int
    matches: int
    input_tokens: int
    output_tokens: int
    cost: float | None


def estimate(plan: Plan) -> Estimate:
    """Rough: an answer is taken for 350 tokens, a judgment for 200, and four characters for a token."""
    asked: list[tuple[Target, float, float]] = []
    for dialogue in plan.dialogues:
        question = plan.questions[dialogue.question_id]
        there = len(plan.said.get(dialogue, []))
        for turn in range(there, len(question.turns)):
            before = _tokens(question.turns[: turn + 1]) + turn * ANSWER_TOKENS_EXPECTED
            asked.append((plan.contenders[dialogue.model_id], before, ANSWER_TOKENS_EXPECTED))
    judged = [unit for unit in plan.missing if unit.judge_id is not None]
    for unit in judged:
        question, sides = plan.questions[unit.question_id], len(unit.needs)
        shown = sides * (_tokens(question.turns[: unit.turn]) + unit.turn * ANSWER_TOKENS_EXPECTED)
        shown += _tokens(question.reference[: unit.turn]) + JUDGE_PROMPT_TOKENS
        asked.append((plan.judges[unit.judge_id or 0], shown, JUDGMENT_TOKENS_EXPECTED))
    cost: float | None = 0.0
    for target, reading, writing in asked:
        if cost is None or target.input_price is None or target.output_price is None:
            cost = None
            break
        cost += (reading * target.input_price + writing * target.output_price) / 1e6
    return Estimate(
        answers=plan.answers_missing,
        judgments=len(judged),
        matches=len(plan.missing) - len(judged),
        input_tokens=round(sum(reading for _, reading, _ in asked)),
        output_tokens=round(sum(writing for *_, writing in asked)),
        cost=cost,
    )


def _tokens(texts: tuple[str, ...]) -> float:
    return sum(map(len, texts)) / CHARACTERS_A_TOKEN
