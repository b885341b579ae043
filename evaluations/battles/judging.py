"""Judges judge battles that people voted on, in both orders, so that they can be held against people.

Only votes that an export for everybody would hold are read: they count, and who voted and who wrote the prompts share.
What a judge said is kept, and of what it was shown only where it stands. Called through the services.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.jobs import Progress, job_create
from accounts.models import Job, User
from battles.exports.judged import judged_of
from battles.exports.reading import votes
from battles.exports.selection import Selection
from common.stopping import is_stopping
from evaluations.engine import IN_LINE, verdict_read, verdict_recorded
from evaluations.errors import EvaluationInvalid
from evaluations.estimating import JUDGE_PROMPT_TOKENS, JUDGMENT_TOKENS_EXPECTED
from evaluations.judges import Case, user_prompt
from evaluations.models import BattleJudgment, JudgePrompt
from evaluations.options import Options
from evaluations.planning import OWN_FAMILY, judge_target
from evaluations.pulsing import pulsed
from evaluations.reading.summaries import enqueue
from evaluations.running import judge_prompts_seed
from evaluations.verdicts import State
from leaderboard.models import Board, Comparison
from leaderboard.services import NewComparison, comparisons_record
from providers.adapters.base import Message, Target
from providers.adapters.http import close_clients
from providers.client import CHARACTERS_A_TOKEN
from providers.live_types import GenerationRecord
from providers.models import LanguageModel
from providers.services import budget_check, generation_note

KIND = "battle_judging"
ORDERS = (1, 2)
TIE = Comparison.Outcome.TIE.value


@dataclass(frozen=True, slots=True)
class Judged:
    """Two answers of one battle with what the person said of them: `a`, `b`, `tie` or `both_bad`. `turns` holds what
    the person wrote, `sides` what each model answered; `models` are slugs."""

    battle_id: UUID
    category: str
    language: str
    labels: tuple[str, str]
    models: tuple[str, str]
    turns: tuple[str, ...]
    sides: tuple[tuple[str, ...], tuple[str, ...]]
    person: str
    person_says: str

    @property
    def key(self) -> tuple[UUID, str, str]:
        return self.battle_id, *self.labels


def judged_battles() -> Iterator[Judged]:
    """Every pair of answers that people voted on and that may be shown to a judge."""
    skipped: Counter[str] = Counter()
    for vote in votes(Selection(owner_id=None)):
        for one in judged_of(vote, trajectories=True, winner_only=False, skipped=skipped):
            spoken = [one.first.prompt + one.first.completion, one.second.prompt + one.second.completion]
            system = "".join(f"System: {text}\n\n" for role, text in one.first.prompt if role == "system")
            turns = [text for role, text in spoken[0] if role == "user"]
            first, second = (tuple(text for role, text in side if role == "assistant") for side in spoken)
            yield Judged(
                battle_id=vote.talk.battle_id,
                category=vote.talk.category,
                language=vote.talk.language,
                labels=(one.first.label, one.second.label),
                models=(one.first.model, one.second.model),
                turns=(system + turns[0], *turns[1:]),
                sides=(first, second),
                person=str(vote.voter_id),
                person_says=one.outcome,
            )


@dataclass(frozen=True, slots=True)
class BattleEstimate:
    """Pairs of answers that are not judged in both orders yet, requests, and about what they cost in US dollars; None
    where a price is not known."""

    battles: int
    requests: int
    cost: float | None


def battles_estimate(*, judge: LanguageModel, limit: int | None = None) -> BattleEstimate:
    """What `battles_judge` would take. Reads the texts, for their lengths."""
    units = list(_missing(judge, limit))
    target = judge_target(judge, Options())
    cost: float | None = None
    if target.input_price is not None and target.output_price is not None:
        read = sum(_characters(one) / CHARACTERS_A_TOKEN + JUDGE_PROMPT_TOKENS for one, _ in units)
        cost = (read * target.input_price + len(units) * JUDGMENT_TOKENS_EXPECTED * target.output_price) / 1e6
    return BattleEstimate(len({one.key for one, _ in units}), len(units), cost)


def battles_judge_start(*, owner: User, judge: LanguageModel, limit: int | None = None) -> Job:
    """Have a worker do it. Raises BudgetSpent, EvaluationInvalid."""
    _check(judge)
    budget_check(user_id=owner.pk, contenders=[judge])
    parameters = {"title": f"{judge.name} judges battles", "judge": judge.slug, "limit": limit}
    return job_create(owner=owner, kind=KIND, parameters=parameters)


def battles_judge(
    *,
    owner: User,
    judge: LanguageModel,
    limit: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Have a judge judge the battles that it has not judged yet, `limit` pairs of answers at most; return how many
    verdicts ended how. `tell` is called every second with what is done and of how much; what it raises ends the work.

    A verdict is stored once it is there, so a second start does what is missing. Raises BudgetSpent, EvaluationInvalid.
    """
    _check(judge)
    units = list(_missing(judge, limit))
    work = _Work(owner, judge, _prompt(), {slug for one, _ in units for slug in one.models})

    def watched() -> None:
        budget_check(user_id=owner.pk, contenders=[LanguageModel.objects.select_related("endpoint").get(pk=judge.pk)])
        tell(work.states.total(), len(units))

    try:
        watched()
        async_to_sync(work.go)(units, watched)
    finally:
        if not is_stopping():  # else the next worker does it at its end
            battles_compare(judge=judge)
            enqueue("evaluation_battle_report")
    return dict(work.states)


def battles_compare(*, judge: LanguageModel) -> int:
    """Push what the judge said in both orders as comparisons of source "judge"; return how many. A second time changes
    nothing."""
    both: dict[tuple[object, ...], dict[int, BattleJudgment]] = defaultdict(dict)
    rows = BattleJudgment.objects.filter(judge=judge, state=State.OK).select_related("battle").order_by("pk")
    for row in rows.defer("text", "reasoning"):
        both[row.battle_id, row.label_a, row.label_b][row.game] = row
    new = [
        NewComparison(
            model_a_id=games[1].model_a_id,
            model_b_id=games[1].model_b_id,
            outcome=games[1].winner if games[1].winner == games[2].winner else TIE,
            source_kind=Board.Source.JUDGES,
            source_id=f"battle:{games[1].battle_id}:{games[1].label_a}{games[1].label_b}:{judge.pk}",
            voter_id=None,
            is_blind=True,
            category=games[1].battle.category,
            language=games[1].battle.language,
            judge=judge.name,
            created_at=games[1].finished_at or timezone.now(),
        )
        for games in both.values()
        if len(games) == len(ORDERS)
    ]
    if new:
        comparisons_record(comparisons=new)
    return len(new)


def battles_work(parameters: dict[str, Any], owner: User, progress: Progress) -> dict[str, Any]:
    """What the job does."""
    judge = LanguageModel.objects.select_related("endpoint").get(slug=parameters["judge"])
    states = battles_judge(owner=owner, judge=judge, limit=parameters["limit"], tell=progress)
    words = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return {"summary": f"{judge.name}: {words or 'nothing was left to judge'}."}


class _Work:
    """One judge at work in one event loop."""

    def __init__(self, owner: User, judge: LanguageModel, prompt: JudgePrompt, slugs: set[str]) -> None:
        self.owner, self.judge, self.prompt = owner, judge, prompt
        self.target: Target = judge_target(judge, Options())
        self.models = dict(LanguageModel.objects.filter(slug__in=slugs).values_list("slug", "pk"))
        self.states: Counter[str] = Counter()

    async def go(self, units: list[tuple[Judged, int]], watched: Callable[[], None]) -> None:
        line = asyncio.Semaphore(IN_LINE)

        async def one(unit: tuple[Judged, int]) -> None:
            async with line:
                await self._judge(*unit)

        async def everything() -> None:
            async with asyncio.TaskGroup() as group:
                for unit in units:
                    group.create_task(one(unit))

        try:
            await pulsed(everything(), sync_to_async(watched))
        finally:
            await close_clients()

    async def _judge(self, judged: Judged, game: int) -> None:
        sides = judged.sides if game == 1 else (judged.sides[1], judged.sides[0])
        text = user_prompt(self.prompt.template, Case(judged.turns, sides), secret=settings.SECRET_KEY)
        messages = [Message("system", self.prompt.system_prompt), Message("user", text)]
        record = await verdict_recorded(self.target, messages, self.prompt, None)
        await sync_to_async(self._store)(judged, game, record)

    @transaction.atomic
    def _store(self, judged: Judged, game: int, record: GenerationRecord) -> None:
        verdict = verdict_read(record, self.prompt, None)
        winner = verdict.winner.value if verdict.winner else ""
        if game == 2:
            winner = {"a": "b", "b": "a"}.get(winner, winner)
        fields = {name: getattr(record, name) for name in GenerationRecord.__dataclass_fields__}
        _, is_new = BattleJudgment.objects.get_or_create(
            battle_id=judged.battle_id,
            judge=self.judge,
            label_a=judged.labels[0],
            label_b=judged.labels[1],
            game=game,
            defaults=fields
            | {
                "model_a_id": self.models[judged.models[0]],
                "model_b_id": self.models[judged.models[1]],
                "turns": len(judged.turns),
                "prompt_name": f"{self.prompt.name}, version {self.prompt.version}",
                "state": verdict.state,
                "winner": winner,
            },
        )
        self.states[verdict.state.value] += 1
        if is_new:
            generation_note(model_id=self.judge.pk, user_id=self.owner.pk, record=record)


def _missing(judge: LanguageModel, limit: int | None) -> Iterator[tuple[Judged, int]]:
    rows = BattleJudgment.objects.filter(judge=judge).order_by()
    done = set(rows.values_list("battle_id", "label_a", "label_b", "game"))
    pairs = 0
    for one in judged_battles():
        orders = [game for game in ORDERS if (*one.key, game) not in done]
        if orders:
            if limit is not None and pairs >= limit:
                return
            pairs += 1
            yield from ((one, game) for game in orders)


def _check(judge: LanguageModel) -> None:
    if not judge.is_active:
        raise EvaluationInvalid(f"{judge.name} cannot be asked.")


def _prompt() -> JudgePrompt:
    judge_prompts_seed()
    rows = JudgePrompt.objects.filter(family=OWN_FAMILY, kind=JudgePrompt.Kind.PAIR, has_reference=False)
    return rows.order_by("-version")[0]


def _characters(judged: Judged) -> int:
    return 2 * sum(map(len, judged.turns)) + sum(map(len, (*judged.sides[0], *judged.sides[1])))
