"""What a run consists of, and what of it is still missing. Reads only."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import msgspec

from evaluations.models import JudgePrompt, Run
from evaluations.options import JUDGE_TEMPERATURE, REASONING_FACTOR, Options, spread
from providers.adapters.base import Sampling, Target
from providers.client import CHARACTERS_A_TOKEN, merged_sampling
from providers.models import GeneratedText, LanguageModel
from providers.selectors import target_for

# Of an answer, before any came; then the mean of those that did.
ANSWER_TOKENS_EXPECTED = 350
JUDGMENT_TOKENS_EXPECTED = 200
JUDGE_PROMPT_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the reference that judges go by."""

    id: int
    category: str
    turns: tuple[str, ...]
    reference_id: int | None = None
    reference: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One model's answers to all turns of one question."""

    question_id: int
    model_id: int
    choice: int


@dataclass(frozen=True, slots=True)
class JudgeUnit:
    """One request to one judge. `model_b_id` is None where one answer is graded; in game 2 model_b is shown first."""

    question_id: int
    judge_id: int
    model_a_id: int
    model_b_id: int | None
    choice: int
    turn: int
    repeat: int
    game: int

    @property
    def needs(self) -> tuple[Dialogue, ...]:
        models = (self.model_a_id,) if self.model_b_id is None else (self.model_a_id, self.model_b_id)
        return tuple(Dialogue(self.question_id, model, self.choice) for model in models)


@dataclass(frozen=True)
class Plan:
    """A run with all that is needed to do it. `said` holds the answers that are there, turn by turn, None for one that
    failed; `missing` the judgments that are not."""

    run: Run
    options: Options
    questions: dict[int, Asked]
    contenders: dict[int, Target]
    judges: dict[int, Target]
    prompts: list[JudgePrompt]
    said: dict[Dialogue, list[str | None]]
    missing: list[JudgeUnit]
    judgments: int

    @property
    def dialogues(self) -> list[Dialogue]:
        return [
            Dialogue(question, model, choice)
            for question in self.questions
            for model in self.contenders
            for choice in range(self.options.choices)
        ]

    @property
    def answers(self) -> int:
        """How many answers there are to be."""
        turns = sum(len(question.turns) for question in self.questions.values())
        return turns * len(self.contenders) * self.options.choices

    @property
    def answers_missing(self) -> int:
        return self.answers - sum(len(turns) for turns in self.said.values())

    def prompt_for(self, unit: JudgeUnit) -> JudgePrompt | None:
        """The prompt that fits best: with a reference where there is one, of the turn rather than of any."""
        kind = JudgePrompt.Kind.SINGLE if unit.model_b_id is None else JudgePrompt.Kind.PAIR
        scope = JudgePrompt.Scope.FIRST if unit.turn == 1 else JudgePrompt.Scope.LATER
        has_reference = len(self.questions[unit.question_id].reference) >= unit.turn
        fitting = [
            prompt
            for prompt in self.prompts
            if prompt.kind == kind
            and prompt.scope in (scope, JudgePrompt.Scope.ANY)
            and (has_reference or not prompt.has_reference)
        ]
        return max(
            fitting, key=lambda prompt: (prompt.has_reference, prompt.scope == scope, prompt.version), default=None
        )


def plan_of(run: Run) -> Plan:
    """What there is to do, and what is there. A question's order in the set is the order of the work."""
    options = msgspec.convert(run.options, Options)
    questions = _questions(run, options)
    contenders = {model.pk: target_for(model) for model in run.contenders.select_related("endpoint")}
    judges = {model.pk: _judge(model, options) for model in run.judges.select_related("endpoint")}
    units = list(_units(run, options, questions, contenders, judges))
    done = set(
        run.judgments.order_by().values_list(
            "question_id", "judge_id", "model_a_id", "model_b_id", "choice", "turn", "repeat", "game"
        )
    )
    missing = [unit for unit in units if _key(unit) not in done]
    prompts = list(JudgePrompt.objects.filter(family=options.prompts))
    said = _said(run, set(questions), set(contenders), options)
    return Plan(run, options, questions, contenders, judges, prompts, said, missing, len(units))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is still to be asked, and about what it will cost in US dollars; None where a price is not known."""

    answers: int
    judgments: int
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
    for unit in plan.missing:
        question, sides = plan.questions[unit.question_id], len(unit.needs)
        shown = sides * (_tokens(question.turns[: unit.turn]) + unit.turn * ANSWER_TOKENS_EXPECTED)
        shown += _tokens(question.reference[: unit.turn]) + JUDGE_PROMPT_TOKENS
        asked.append((plan.judges[unit.judge_id], shown, JUDGMENT_TOKENS_EXPECTED))
    cost: float | None = 0.0
    for target, reading, writing in asked:
        if cost is None or target.input_price is None or target.output_price is None:
            cost = None
            break
        cost += (reading * target.input_price + writing * target.output_price) / 1e6
    return Estimate(
        answers=plan.answers_missing,
        judgments=len(plan.missing),
        input_tokens=round(sum(reading for _, reading, _ in asked)),
        output_tokens=round(sum(writing for *_, writing in asked)),
        cost=cost,
    )


def _tokens(texts: tuple[str, ...]) -> float:
    return sum(map(len, texts)) / CHARACTERS_A_TOKEN


def chosen_questions(run: Run) -> list[int]:
    """The ids of the questions that the run asks, in the order of the set."""
    rows = list(run.question_set.questions.values_list("pk", "category"))
    most = msgspec.convert(run.options, Options).max_questions
    return [rows[index][0] for index in spread([category for _, category in rows], most)]


def _questions(run: Run, options: Options) -> dict[int, Asked]:
    rows = list(run.question_set.questions.prefetch_related("references"))
    chosen = [rows[index] for index in spread([row.category for row in rows], options.max_questions)]
    found = {}
    for row in chosen:
        references = [
            reference
            for reference in row.references.all()
            if options.reference_version is None or reference.version <= options.reference_version
        ]
        if options.with_references and references:
            newest = references[0]
            found[row.pk] = Asked(row.pk, row.category, tuple(row.turns), newest.pk, tuple(newest.turns))
        else:
            found[row.pk] = Asked(row.pk, row.category, tuple(row.turns))
    return found


def _judge(model: LanguageModel, options: Options) -> Target:
    """A judge speaks with the judge prompt's words only, and as little by chance as it can."""
    target = target_for(model)
    most = options.judge_max_tokens * (REASONING_FACTOR if model.is_reasoning else 1)
    most = min(most, target.sampling.max_tokens or most)
    sampling = merged_sampling(target.sampling, Sampling(JUDGE_TEMPERATURE, None, most, options.seed))
    return replace(target, system_prompt="", sampling=sampling)


def _units(
    run: Run, options: Options, questions: dict[int, Asked], contenders: dict[int, Target], judges: dict[int, Target]
) -> Iterator[JudgeUnit]:
    if run.mode == Run.Mode.SINGLE:
        sides: list[tuple[int, int | None]] = [(model, None) for model in contenders]
    elif run.mode == Run.Mode.BASELINE:
        sides = [(model, run.baseline_id) for model in contenders if model != run.baseline_id]
    else:
        sides = list(combinations(contenders, 2))
    for question in questions.values():
        for choice in range(options.choices):
            for turn in range(1, len(question.turns) + 1):
                for one, two in sides:
                    for judge in judges:
                        for repeat in range(options.repeats):
                            for game in (1,) if two is None else (1, 2):
                                yield JudgeUnit(question.id, judge, one, two, choice, turn, repeat, game)


def _key(unit: JudgeUnit) -> tuple[object, ...]:
    return (
        unit.question_id, unit.judge_id, unit.model_a_id, unit.model_b_id, unit.choice, unit.turn, unit.repeat,
        unit.game,
    )  # fmt: skip


def _said(run: Run, questions: set[int], models: set[int], options: Options) -> dict[Dialogue, list[str | None]]:
    found: dict[Dialogue, list[str | None]] = {}
    rows = run.answers.order_by("turn").values_list("question_id", "model_id", "choice", "status", "text")
    for question, model, choice, status, text in rows:
        if question in questions and model in models and choice < options.choices:
            is_said = status == GeneratedText.Status.FINISHED
            found.setdefault(Dialogue(question, model, choice), []).append(text if is_said else None)
    return found
