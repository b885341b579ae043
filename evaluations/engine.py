"""Does what is missing of a run, all at once within the limits of the endpoints: answers turn by turn, and each
judgment as soon as what it judges is there.

A unit is stored when it has ended and never before, so that whoever starts again after a crash does only what is
missing. Nothing here knows Celery or the terminal.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from evaluations import verdicts
from evaluations.judges import FORMS, RATINGS_REMINDER, REMINDER, Case, rating_lines, user_prompt
from evaluations.models import JudgePrompt
from evaluations.planning import Dialogue, JudgeUnit, Plan
from evaluations.pulsing import pulsed
from evaluations.scorers import MATCHERS, Rubric
from evaluations.storing import answer_store, judgment_known, judgment_store, match_store
from evaluations.verdicts import State, Verdict
from providers.adapters.base import ErrorKind, FinishReason, Message, Sampling, Target
from providers.client import merged_sampling
from providers.live_record import messages_hash, sampling_sent
from providers.live_types import GenerationRecord
from providers.models import GeneratedText
from providers.whole_answers import answer_recorded

# Requests of one run that stand in line at one endpoint: enough to fill its places, too few to crowd its line.
IN_LINE = 64
STATES = {
    ErrorKind.RATE_LIMIT.value: State.RATE,
    ErrorKind.TIMEOUT.value: State.TIMEOUT,
    ErrorKind.CONTENT_FILTER.value: State.REFUSED,
}
# Its verdict stands before its reasons, so that it is whole where those are cut off.
FIRST_LINE_FORM = "[[rating_a,rating_b]]"
# Between the words of a judge and those after a reminder.
AGAIN = "\n\n(asked again for the form)\n\n"
Pulse = Callable[["Counts"], Awaitable[None]]


@dataclass(slots=True)
class Counts:
    """How far a run is."""

    answers: int = 0
    answers_total: int = 0
    failed: int = 0
    judgments: int = 0
    judgments_total: int = 0
    unread: int = 0
    skipped: int = 0
    cost: float = 0.0

    @property
    def done(self) -> int:
        return self.answers + self.judgments + self.skipped

    @property
    def total(self) -> int:
        return self.answers_total + self.judgments_total


@dataclass
class Engine:
    """One run under way, in one event loop."""

    plan: Plan
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        plan, counts = self.plan, self.counts
        counts.answers_total, counts.judgments_total = plan.answers, plan.judgments
        counts.answers = plan.answers - plan.answers_missing
        counts.failed = sum(turn is None for turns in plan.said.values() for turn in turns)
        counts.judgments = plan.judgments - len(plan.missing)
        self._said: dict[Dialogue, list[str | None]] = {key: list(turns) for key, turns in plan.said.items()}
        self._waiting: dict[tuple[Dialogue, int], list[JudgeUnit]] = defaultdict(list)
        self._lines: dict[str, asyncio.Semaphore] = {}

    async def go(self, pulse: Pulse) -> Counts:
        """Do all that is missing. `pulse` is called every second; what it raises ends the run, and only what is under
        way at that moment is lost."""
        await pulsed(self._all(), partial(pulse, self.counts))
        return self.counts

    async def _all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for unit in self.plan.missing:
                missing = [dialogue for dialogue in unit.needs if not self._is_over(dialogue, unit.turn)]
                if missing:
                    self._waiting[missing[0], unit.turn].append(unit)
                else:
                    group.create_task(self._judge(unit))
            for dialogue in self.plan.dialogues:
                if not self._is_over(dialogue, len(self.plan.questions[dialogue.question_id].turns)):
                    group.create_task(self._answer(dialogue, group))

    def _is_over(self, dialogue: Dialogue, turn: int) -> bool:
        """Whether the turn is answered, or never will be."""
        said = self._said.get(dialogue, [])
        return len(said) >= turn or None in said

    async def _answer(self, dialogue: Dialogue, group: asyncio.TaskGroup) -> None:
        question = self.plan.questions[dialogue.question_id]
        said = self._said.setdefault(dialogue, [])
        target = self._asking(dialogue)
        for turn in range(len(said) + 1, len(question.turns) + 1):
            if None not in said:
                messages = []
                for asked, answered in zip(question.turns, [*said, None], strict=False):
                    messages.append(Message("user", asked))
                    if answered is not None:
                        messages.append(Message("assistant", answered))
                record = await self._in_line(target, partial(answer_recorded, target, messages))
                await sync_to_async(answer_store)(run=self.plan.run, dialogue=dialogue, turn=turn, record=record)
                is_said = record.status == GeneratedText.Status.FINISHED
                said.append(record.text if is_said else None)
                self.counts.answers += 1
                self.counts.failed += not is_said
                self.counts.cost += float(record.cost or 0)
            else:
                self.counts.skipped += 1
            self._release(dialogue, turn, group)

    def _release(self, dialogue: Dialogue, turn: int, group: asyncio.TaskGroup) -> None:
        for unit in self._waiting.pop((dialogue, turn), []):
            missing = [other for other in unit.needs if not self._is_over(other, turn)]
            if missing:
                self._waiting[missing[0], turn].append(unit)
            else:
                group.create_task(self._judge(unit))

    def _asking(self, dialogue: Dialogue) -> Target:
        options, target = self.plan.options, self.plan.contenders[dialogue.model_id]
        category = self.plan.questions[dialogue.question_id].category
        most = target.sampling.max_tokens or options.max_tokens
        seed = None if options.seed is None else options.seed + dialogue.choice
        asked = Sampling(options.temperature(category), None, min(most, options.max_tokens), seed)
        return replace(target, sampling=merged_sampling(target.sampling, asked))

    async def _judge(self, unit: JudgeUnit) -> None:
        said = [self._said[dialogue] for dialogue in unit.needs]
        if any(None in answers[: unit.turn] or len(answers) < unit.turn for answers in said):
            self.counts.skipped += 1  # there is no answer to judge
            return
        scorer = self.plan.scorer_of(unit)
        if unit.judge_id is None:
            assert isinstance(scorer, MATCHERS)
            answer = said[0][unit.turn - 1] or ""
            await sync_to_async(match_store)(run=self.plan.run, unit=unit, scorer=scorer, answer=answer)
            self.counts.judgments += 1
            return
        prompt = self.plan.prompt_for(unit)
        if prompt is None:
            self.counts.skipped += 1
            return
        rubric = scorer if isinstance(scorer, Rubric) else None
        question = self.plan.questions[unit.question_id]
        sides = [tuple(answer or "" for answer in answers[: unit.turn]) for answers in said]
        reference = question.reference[: unit.turn] if prompt.has_reference else ()
        case = Case(question.turns[: unit.turn], tuple(sides if unit.game == 1 else reversed(sides)), reference, rubric)
        text = user_prompt(prompt.template, case, secret=settings.SECRET_KEY)
        system = [Message("system", prompt.system_prompt)] if prompt.system_prompt else []
        messages = [*system, Message("user", text)]
        target = self.plan.judges[unit.judge_id]
        known = await sync_to_async(judgment_known)(
            unit=unit, messages_hash=messages_hash(target, messages), sampling=sampling_sent(target)
        )
        if known is None:
            record = await self._in_line(target, lambda: verdict_recorded(target, messages, prompt, rubric))
        else:
            record = known
        verdict = verdict_read(record, prompt, rubric)
        await sync_to_async(judgment_store)(
            run=self.plan.run,
            unit=unit,
            prompt=prompt,
            rubric=rubric,
            reference_id=question.reference_id if prompt.has_reference else None,
            user_prompt=text,
            record=record,
            verdict=verdict,
        )
        self.counts.judgments += 1
        self.counts.unread += verdict.state is not State.OK
        self.counts.cost += float(record.cost or 0)

    async def _in_line(
        self, target: Target, ask: Callable[[], Coroutine[Any, Any, GenerationRecord]]
    ) -> GenerationRecord:
        line = self._lines.setdefault(target.limits.key, asyncio.Semaphore(IN_LINE))
        async with line:
            return await ask()


async def verdict_recorded(
    target: Target, messages: list[Message], prompt: JudgePrompt, rubric: Rubric | None
) -> GenerationRecord:
    """The judge's words; where they hold no verdict, with those of a second try after a reminder of the form."""
    first = await answer_recorded(target, messages)
    if first.status != GeneratedText.Status.FINISHED or verdict_read(first, prompt, rubric).state is not State.PARSE:
        return first
    if rubric is None:
        reminder = REMINDER.format(form=FORMS[prompt.output_format])
    else:
        reminder = RATINGS_REMINDER.format(lines=rating_lines(rubric))
    again = [*messages, Message("assistant", first.text), Message("user", reminder)]
    return _both(first, await answer_recorded(target, again))


def verdict_read(record: GenerationRecord, prompt: JudgePrompt, rubric: Rubric | None) -> Verdict:
    """The verdict, or the state that says why there is none. After a reminder the last words count."""
    if record.status != GeneratedText.Status.FINISHED:
        return Verdict(STATES.get(record.error_kind, State.UPSTREAM))
    words = record.text.rpartition(AGAIN)[2]
    if record.finish_reason == FinishReason.LENGTH and "]]" not in words and prompt.output_format != FIRST_LINE_FORM:
        return Verdict(State.PARSE)  # what it was about to say is not known
    if rubric is None:
        return verdicts.READERS[prompt.output_format](words)
    names = [criterion.name for criterion in rubric.criteria]
    return verdicts.ratings_read(words, names, low=rubric.low, high=rubric.high)


def _both(first: GenerationRecord, second: GenerationRecord) -> GenerationRecord:
    """The two requests of one judgment as one record. A second that failed leaves the first as it was."""

    def total(one: Any, two: Any) -> Any:
        return None if one is None and two is None else (one or 0) + (two or 0)

    is_said = second.status == GeneratedText.Status.FINISHED
    return replace(
        first,
        text=f"{first.text}{AGAIN}{second.text}" if is_said else first.text,
        latency_ms=total(first.latency_ms, second.latency_ms),
        input_tokens=total(first.input_tokens, second.input_tokens),
        output_tokens=total(first.output_tokens, second.output_tokens),
        reasoning_tokens=total(first.reasoning_tokens, second.reasoning_tokens),
        cost=total(first.cost, second.cost),
        finished_at=second.finished_at,
    )
