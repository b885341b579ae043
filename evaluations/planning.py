"""What a run consists of, and what of it is still missing. Reads only."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import msgspec

from evaluations.models import JudgePrompt, Run
from evaluations.options import JUDGE_TEMPERATURE, REASONING_FACTOR, Options, spread
from evaluations.scorers import MATCHERS, Judge, Rubric, Scorer, scorers_read
from providers.adapters.base import Sampling, Target
from providers.client import merged_sampling
from providers.models import GeneratedText, LanguageModel
from providers.selectors import target_for

OWN_FAMILY = "tourney"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the reference that judges go by, and how its answers are scored: by judges, where it says
    nothing."""

    id: int
    category: str
    turns: tuple[str, ...]
    reference_id: int | None = None
    reference: tuple[str, ...] = ()
    reference_version: int = 0
    scorers: tuple[Scorer, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One model's answers to all turns of one question."""

    question_id: int
    model_id: int
    choice: int


@dataclass(frozen=True, slots=True)
class JudgeUnit:
    """One request to one judge, or without a judge one match. `model_b_id` is None where one answer is graded; in game
    2 model_b is shown first. `scorer` is a place among the question's scorers."""

    question_id: int
    judge_id: int | None
    model_a_id: int
    model_b_id: int | None
    choice: int
    turn: int
    repeat: int = 0
    game: int = 1
    scorer: int = 0
    reference_version: int = 0

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

    def scorer_of(self, unit: JudgeUnit) -> Scorer | None:
        """None where the question names none."""
        scorers = self.questions[unit.question_id].scorers
        return scorers[unit.scorer] if scorers else None

    def prompt_for(self, unit: JudgeUnit) -> JudgePrompt | None:
        """The prompt that fits best: with a reference where there is one, of the turn rather than of any. A family
        without a prompt for rubrics takes ours."""
        question, scorer = self.questions[unit.question_id], self.scorer_of(unit)
        return _fitting(self.prompts, self.options.prompts, question, scorer, unit.turn, unit.model_b_id is not None)


def _fitting(
    prompts: list[JudgePrompt], family: str, question: Asked, scorer: Scorer | None, turn: int, is_pair: bool
) -> JudgePrompt | None:
    if isinstance(scorer, Rubric):
        kind = JudgePrompt.Kind.RUBRIC
    else:
        kind = JudgePrompt.Kind.PAIR if is_pair else JudgePrompt.Kind.SINGLE
    scope = JudgePrompt.Scope.FIRST if turn == 1 else JudgePrompt.Scope.LATER
    has_reference = len(question.reference) >= turn
    fitting = [
        prompt
        for prompt in prompts
        if prompt.kind == kind
        and (prompt.family == family or kind == JudgePrompt.Kind.RUBRIC)
        and prompt.scope in (scope, JudgePrompt.Scope.ANY)
        and (has_reference or not prompt.has_reference)
    ]
    return max(
        fitting,
        key=lambda prompt: (prompt.family == family, prompt.has_reference, prompt.scope == scope, prompt.version),
        default=None,
    )


def plan_of(run: Run) -> Plan:
    """What there is to do, and what is there. A question's order in the set is the order of the work.

    A corrected reference does not by itself make a judgment missing: only a run that names a `reference_version` is
    judged again where it was judged by another one.
    """
    options = msgspec.convert(run.options, Options)
    questions = _questions(run, options)
    contenders = {model.pk: target_for(model) for model in run.contenders.select_related("endpoint")}
    judges = {model.pk: judge_target(model, options) for model in run.judges.select_related("endpoint")}
    prompts = list(JudgePrompt.objects.filter(family__in={options.prompts, OWN_FAMILY}))
    units = list(_units(run, options, questions, contenders, judges, prompts))
    done = set(
        run.judgments.order_by().values_list(
            "question_id", "judge_id", "model_a_id", "model_b_id", "choice", "turn", "repeat", "game", "scorer",
            "reference_version",
        )
    )  # fmt: skip
    if options.reference_version is None:
        judged = {key[:-1] for key in done}
        missing = [unit for unit in units if _key(unit)[:-1] not in judged]
    else:
        missing = [unit for unit in units if _key(unit) not in done]
    said = _said(run, set(questions), set(contenders), options)
    return Plan(run, options, questions, contenders, judges, prompts, said, missing, len(units))


def chosen_questions(run: Run) -> list[int]:
    """The ids of the questions that the run asks, in the order of the set."""
    rows = list(run.question_set.questions.values_list("pk", "category"))
    most = msgspec.convert(run.options, Options).max_questions
    return [rows[index][0] for index in spread([category for _, category in rows], most)]


def is_complete(run: Run) -> bool:
    """Whether a run that was done to its end has asked all that it asks now: its question set may have grown."""
    if run.status != Run.Status.DONE:
        return False
    asked = run.answers.order_by().values("question")
    return not run.question_set.questions.filter(pk__in=chosen_questions(run)).exclude(pk__in=asked).exists()


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
        scorers = scorers_read(row.scorers, turns=len(row.turns))
        asked = Asked(row.pk, row.category, tuple(row.turns), scorers=scorers)
        if options.with_references and references:
            newest = references[0]
            asked = replace(
                asked, reference_id=newest.pk, reference=tuple(newest.turns), reference_version=newest.version
            )
        found[row.pk] = asked
    return found


def judge_target(model: LanguageModel, options: Options) -> Target:
    """A judge speaks with the judge prompt's words only, and as little by chance as it can."""
    target = target_for(model)
    most = options.judge_max_tokens * (REASONING_FACTOR if model.is_reasoning else 1)
    most = min(most, target.sampling.max_tokens or most)
    sampling = merged_sampling(target.sampling, Sampling(JUDGE_TEMPERATURE, None, most, options.seed))
    return replace(target, system_prompt="", sampling=sampling)


def _units(
    run: Run,
    options: Options,
    questions: dict[int, Asked],
    contenders: dict[int, Target],
    judges: dict[int, Target],
    prompts: list[JudgePrompt],
) -> Iterator[JudgeUnit]:
    if run.mode == Run.Mode.SINGLE:
        sides: list[tuple[int, int | None]] = [(model, None) for model in contenders]
    elif run.mode == Run.Mode.BASELINE:
        sides = [(model, run.baseline_id) for model in contenders if model != run.baseline_id]
    else:
        sides = list(combinations(contenders, 2))
    for question in questions.values():
        for choice, turn in product(range(options.choices), range(1, len(question.turns) + 1)):
            for place, scorer in enumerate(question.scorers or (Judge(),)):
                if not _is_scored(scorer, turn, len(question.turns)):
                    continue
                if isinstance(scorer, MATCHERS):
                    for model in contenders:
                        yield JudgeUnit(question.id, None, model, None, choice, turn, scorer=place)
                    continue
                is_pair = run.mode != Run.Mode.SINGLE and not isinstance(scorer, Rubric)
                prompt = _fitting(prompts, options.prompts, question, scorer, turn, is_pair)
                version = question.reference_version if prompt and prompt.has_reference else 0
                for one, two in [(model, None) for model in contenders] if isinstance(scorer, Rubric) else sides:
                    for judge, repeat in product(judges, range(options.repeats)):
                        for game in (1,) if two is None else (1, 2):
                            yield JudgeUnit(question.id, judge, one, two, choice, turn, repeat, game, place, version)


def _is_scored(scorer: Scorer, turn: int, turns: int) -> bool:
    """A scorer without a turn scores the last one, a judge all of them."""
    if scorer.turn is None:
        return isinstance(scorer, Judge) or turn == turns
    return turn == scorer.turn


def _key(unit: JudgeUnit) -> tuple[object, ...]:
    return (
        unit.question_id, unit.judge_id, unit.model_a_id, unit.model_b_id, unit.choice, unit.turn, unit.repeat,
        unit.game, unit.scorer, unit.reference_version,
    )  # fmt: skip


def _said(run: Run, questions: set[int], models: set[int], options: Options) -> dict[Dialogue, list[str | None]]:
    found: dict[Dialogue, list[str | None]] = {}
    rows = run.answers.order_by("turn").values_list("question_id", "model_id", "choice", "status", "text")
    for question, model, choice, status, text in rows:
        if question in questions and model in models and choice < options.choices:
            is_said = status == GeneratedText.Status.FINISHED
            found.setdefault(Dialogue(question, model, choice), []).append(text if is_said else None)
    return found
