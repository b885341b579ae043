"""What the engine writes, unit by unit. A unit that is stored twice stays as it was the first time."""

from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from common.refusals import is_refusal
from evaluations.models import Answer, JudgePrompt, Judgment, Run
from evaluations.planning import Dialogue, JudgeUnit
from evaluations.scorers import Matcher, Rubric, on_scale
from evaluations.verdicts import State, Verdict
from providers.live_types import GenerationRecord
from providers.models import GeneratedText
from providers.services import generation_note

FOUND_LENGTH = 500
# The columns that a judgment takes over from an equal one.
KEPT = ("text", "reasoning", "status", "finish_reason", "upstream_model", "adapter", "code_version", "sampling")


@transaction.atomic
def answer_store(*, run: Run, dialogue: Dialogue, turn: int, record: GenerationRecord) -> None:
    """Keep one answer and count it."""
    _, is_new = Answer.objects.get_or_create(
        run=run,
        question_id=dialogue.question_id,
        model_id=dialogue.model_id,
        choice=dialogue.choice,
        turn=turn,
        defaults=asdict(record) | {"is_refusal": is_refusal(record.text, record.finish_reason)},
    )
    if is_new:
        generation_note(model_id=dialogue.model_id, user_id=run.owner_id, record=record)


@transaction.atomic
def judgment_store(
    *,
    run: Run,
    unit: JudgeUnit,
    prompt: JudgePrompt,
    rubric: Rubric | None,
    reference_id: int | None,
    user_prompt: str,
    record: GenerationRecord,
    verdict: Verdict,
) -> None:
    """Keep one judgment and count it. The winner is turned back to model_a and model_b where they were swapped."""
    winner = verdict.winner.value if verdict.winner else ""
    if unit.game == 2:
        winner = {"a": "b", "b": "a"}.get(winner, winner)
    _, is_new = Judgment.objects.get_or_create(
        run=run,
        **asdict(unit),
        defaults=asdict(record)
        | {
            "prompt": prompt,
            "prompt_name": prompt.name,
            "reference_id": reference_id,
            "user_prompt": user_prompt,
            "state": verdict.state,
            "score": on_scale(rubric.mean(verdict.ratings)) if rubric and verdict.ratings else verdict.score,
            "details": {"scorer": msgspec.to_builtins(rubric), "ratings": verdict.ratings} if rubric else {},
            "winner": winner,
        },
    )
    if is_new and unit.judge_id is not None:
        generation_note(model_id=unit.judge_id, user_id=run.owner_id, record=record)


def match_store(*, run: Run, unit: JudgeUnit, scorer: Matcher, answer: str) -> None:
    """Look at an answer and keep what was found, with how the scorer was set: it may be corrected later."""
    match, now = scorer.match(answer), timezone.now()
    settled = msgspec.to_builtins(scorer)
    Judgment.objects.get_or_create(
        run=run,
        **asdict(unit),
        defaults={
            "prompt_name": settled["kind"],
            "details": {"scorer": settled},
            "state": State.OK,
            "score": on_scale(float(match.passed)),
            "text": match.found[:FOUND_LENGTH],
            "status": GeneratedText.Status.FINISHED,
            "started_at": now,
            "finished_at": now,
        },
    )


def judgment_known(*, unit: JudgeUnit, messages_hash: str, sampling: dict[str, Any]) -> GenerationRecord | None:
    """What the same judge said when it was asked the same before, at no cost; None where it was not, or gave no
    verdict. A repeat is answered by an equal repeat only: else repeats would not differ."""
    row = (
        Judgment.objects.filter(
            judge_id=unit.judge_id,
            messages_hash=messages_hash,
            sampling=sampling,
            repeat=unit.repeat,
            state=State.OK,
            status=GeneratedText.Status.FINISHED,
        )
        .order_by("pk")
        .first()
    )
    if row is None:
        return None
    kept = GenerationRecord(**{name: getattr(row, name) for name in KEPT}, messages_hash=messages_hash)
    return replace(kept, is_cached=True, cost=Decimal(0), finished_at=row.finished_at)
