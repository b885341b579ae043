"""Has judges judge conversations, many at once, within the limits of their endpoints.

A judgment is stored when it has ended; whoever starts again has only what has no verdict judged.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction

from accounts.jobs import JobCancelled, Progress, job_create, job_kind
from accounts.models import Job, User
from common.database import in_database_thread
from common.stopping import GivesWay, is_stopping
from common.text import counted, text_problem
from conversations.comparing.selectors import finished_of
from conversations.comparing.units import Played, difference, played, tells_names
from conversations.models import Conversation
from conversations.selectors import conversations_whole
from evaluations.engine import STATES
from evaluations.errors import EvaluationInvalid, NothingToJudge
from evaluations.models import TalkJudgment
from evaluations.options import Options
from evaluations.planning import judge_target
from evaluations.talks import texts
from evaluations.talks.comparing import talks_compare
from evaluations.talks.subjects import subject_filter, subject_of
from evaluations.talks.texts import Talk, rubric_digest
from evaluations.verdicts import State
from providers.adapters.base import Message, Target
from providers.adapters.http import close_clients
from providers.client import CHARACTERS_A_TOKEN
from providers.live_types import GenerationRecord
from providers.models import GeneratedText, LanguageModel
from providers.services import budget_check, generation_note
from providers.whole_answers import answer_recorded

logger = logging.getLogger(__name__)

KIND = "conversation_judging"
MODES = ("single", "pair")
RUBRIC_MAX_CHARACTERS = 4_000
UNITS_MAX = 10_000
AT_ONCE = 32
LOOK_SECONDS = 1.0
# Of a small window this part is for the conversations; the rest is for the question and the answer.
WINDOW_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Unit:
    """One request: a conversation, or two in the order of `game`."""

    conversation: UUID
    other: UUID | None = None
    side: str = ""
    game: int = 1


@transaction.atomic
def judging_start(
    *,
    owner: User,
    judge: str,
    mode: str = "single",
    rubric: str = "",
    experiment_id: UUID | None = None,
    conversation_id: UUID | None = None,
) -> tuple[Job, int]:
    """Have a worker ask a judge, by its slug, about a finished conversation, or all of an experiment: `single` scores
    each agent, `pair` compares those of the same iteration that differ in one model. Returns the job and how many
    judgments are asked for.

    Raises NotFound, EvaluationInvalid, NothingToJudge, BudgetSpent.
    """
    subject = subject_of(owner=owner, experiment_id=experiment_id, conversation_id=conversation_id)
    rubric = rubric.strip()
    if problem := text_problem(rubric, limit=RUBRIC_MAX_CHARACTERS, what="rubric"):
        raise EvaluationInvalid(problem)
    if mode not in MODES or (mode == "pair" and conversation_id):
        raise EvaluationInvalid(f"A judge judges in these ways: {', '.join(MODES)}; one conversation has no pair.")
    model = LanguageModel.objects.active().select_related("endpoint").filter(slug=judge).first()
    if model is None:
        raise EvaluationInvalid(f"There is no model “{judge}” that can be asked. Choose one of the catalogue.")
    budget_check(user_id=owner.pk, contenders=[model])
    parameters = {"judge": model.pk, "mode": mode, "rubric": rubric} | subject.parameters
    units = units_missing(owner, parameters)
    if not units:
        raise NothingToJudge
    if len(units) > UNITS_MAX:
        raise EvaluationInvalid(f"This takes {len(units):,} judgments, and at most {UNITS_MAX:,} are made at once.")
    title = f"{model.name} judges {subject.name}"
    return job_create(owner=owner, kind=KIND, parameters=parameters | {"title": title}), len(units)


def units_missing(owner: User, parameters: dict[str, Any]) -> list[Unit]:
    """What has no verdict yet."""
    finished = finished_of(owner).filter(**subject_filter(parameters)).prefetch_related("agents")
    rows = list(finished.order_by("cell"))
    wanted = [Unit(row.pk) for row in rows] if parameters["mode"] == "single" else _pairs(rows)
    done = TalkJudgment.objects.filter(
        judge=parameters["judge"],
        prompt_version=texts.PROMPT_VERSION,
        rubric_digest=rubric_digest(parameters["rubric"]),
        state=State.OK,
        **subject_filter(parameters, "conversation__"),
    )
    known = set(done.values_list("conversation", "other", "game"))
    return [unit for unit in wanted if (unit.conversation, unit.other, unit.game) not in known]


def _pairs(rows: Sequence[Conversation]) -> list[Unit]:
    alike: dict[tuple[Any, ...], list[Played]] = {}
    for row in rows:
        if row.scenario_id and (found := played(row)):
            alike.setdefault((row.iteration, found.settings), []).append(found)
    return [
        Unit(one.id, other.id, differs.side, game)
        for group in alike.values()
        for at, one in enumerate(group)
        for other in group[at + 1 :]
        if (differs := difference(one, other))
        for game in (1, 2)
    ]


@job_kind(KIND)
def judging_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: what has a verdict is not asked for once more."""
    units = units_missing(job.owner, job.parameters)
    judging = _Judging(job, units, progress)
    try:
        async_to_sync(judging.go)()
    finally:
        compared = 0 if is_stopping() else talks_compare(owner=job.owner, parameters=job.parameters)
    still = f", {judging.unread} without a verdict" if judging.unread else ""
    named = f", {judging.named} left out because they name a model" if judging.named else ""
    summary = f"{judging.done} of {counted(len(units), 'judgment')}{still}{named}."
    return {"judgments": judging.done, "comparisons": compared, "summary": summary}


class _Judging:
    def __init__(self, job: Job, units: Sequence[Unit], progress: Callable[[int, int | None], None]) -> None:
        self._job, self._units, self._progress = job, units, progress
        self._judge = LanguageModel.objects.select_related("endpoint").get(pk=job.parameters["judge"])
        self._target = judge_target(self._judge, Options())
        self._places = asyncio.Semaphore(AT_ONCE)
        self.done = self.unread = self.named = 0

    async def go(self) -> None:
        """All units. Raises JobCancelled or GivesWay, and only what is under way at that moment is lost."""
        try:
            work = asyncio.gather(*(self._unit(unit) for unit in self._units))
            while not work.done():
                await asyncio.wait({work}, timeout=LOOK_SECONDS)
                try:
                    await in_database_thread(self._progress)(self.done, len(self._units))
                except (JobCancelled, GivesWay):
                    work.cancel()
                    await asyncio.gather(work, return_exceptions=True)
                    raise
            await work
        finally:
            await close_clients()

    async def _unit(self, unit: Unit) -> None:
        async with self._places:
            messages = await in_database_thread(self._messages)(unit)
            if messages is None:
                self.named += 1
                return
            record = await answer_recorded(self._target, messages)
            try:
                is_read = await in_database_thread(self._store)(unit, record)
            except Exception:  # such as a conversation that has gone meanwhile; it costs no other
                logger.exception("A judgment of conversation %s could not be stored", unit.conversation)
                is_read = False
            self.done += 1
            self.unread += not is_read

    def _messages(self, unit: Unit) -> list[Message] | None:
        """What the judge is asked; None where a text names a model, or a conversation has gone meanwhile."""
        ids = [id_ for id_ in (unit.conversation, unit.other) if id_ is not None]
        whole = {row.pk: row for row in conversations_whole(ids)}
        if len(whole) < len(ids) or tells_names(list(whole.values())):
            return None
        shown = [_talk(whole[id_]) for id_ in ids]
        asked = {
            "rubric": self._job.parameters["rubric"],
            "secret": settings.SECRET_KEY,
            "characters": _characters(self._target),
        }
        if len(shown) == 1:
            question = texts.single_prompt(shown[0], **asked)
            return [Message("system", texts.SINGLE_SYSTEM), Message("user", question)]
        first, second = shown if unit.game == 1 else reversed(shown)
        question = texts.pair_prompt(first, second, side=unit.side, **asked)
        return [Message("system", texts.PAIR_SYSTEM), Message("user", question)]

    @transaction.atomic
    def _store(self, unit: Unit, record: GenerationRecord) -> bool:
        """Keep a judgment and count it; whether there is a verdict in it."""
        read = _read(unit, record)
        rubric = self._job.parameters["rubric"]
        TalkJudgment.objects.update_or_create(
            conversation_id=unit.conversation,
            other_id=unit.other,
            judge=self._judge,
            prompt_version=texts.PROMPT_VERSION,
            rubric_digest=rubric_digest(rubric),
            game=unit.game,
            defaults=asdict(record) | read | {"owner": self._job.owner, "side": unit.side, "rubric": rubric},
        )
        generation_note(model_id=self._judge.pk, user_id=self._job.owner_id, record=record)
        return bool(read["state"] == State.OK)


def _read(unit: Unit, record: GenerationRecord) -> dict[str, Any]:
    if record.status != GeneratedText.Status.FINISHED:
        return {"state": STATES.get(record.error_kind, State.UPSTREAM)}
    if unit.other is None:
        found = texts.scores_of(record.text)
        scores = {"score_a": found.a, "score_b": found.b}
        return scores | {"state": found.state, "reason_a": found.reason_a, "reason_b": found.reason_b}
    verdict = texts.winner_of(record.text)
    winner = verdict.winner.value if verdict.winner else ""
    if unit.game == 2:
        winner = {"a": "b", "b": "a"}.get(winner, winner)
    return {"state": verdict.state, "winner": winner}


def _talk(conversation: Conversation) -> Talk:
    said = [turn for turn in conversation.turns.all() if turn.number is not None and turn.is_answer]
    return Talk(conversation.seed_prompt, [(turn.speaker, turn.text) for turn in said])


def _characters(target: Target) -> int | None:
    window = target.context_window
    return int(window * CHARACTERS_A_TOKEN * WINDOW_SHARE) if window else None
