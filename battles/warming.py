"""Asks models ahead for the prompts that Tourney suggests, so that the store can answer whoever picks one first."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from battles.models import Prompt
from battles.prompts import prompt_clean
from common.database import in_database_thread
from common.errors import NotFound, TourneyError
from providers.adapters.base import Message, Target
from providers.answer_store import answers_kept
from providers.live_types import GenerationRecord
from providers.models import LanguageModel
from providers.selectors import target_for
from providers.services import generation_note
from providers.whole_answers import answer_recorded

COUNT_MAX = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """One answer that the store does not have yet."""

    model: LanguageModel
    target: Target
    messages: tuple[Message, ...]


def answers_wanted(*, prompt_set: str = "", models: Sequence[str] = (), count: int = 1) -> list[Wanted]:
    """What is missing for `count` answers of each model to each prompt. What is there is left alone, so a run that was
    broken off goes on where it stopped.

    `prompt_set` is a slug; without it: all prompts that are suggested. Without `models`: all that may be drawn and
    whose endpoint keeps answers. Raises NotFound, and TourneyError for a model whose endpoint keeps none.
    """
    which = {"prompt_set__slug": prompt_set} if prompt_set else {"prompt_set__is_suggested": True}
    prompts = Prompt.objects.filter(**which)
    if not prompts.exists():
        raise NotFound(
            f"There is no prompt set {prompt_set} with prompts." if prompt_set else "No prompt is suggested."
        )
    if not 1 <= count <= COUNT_MAX:
        raise TourneyError(f"The count must be from 1 to {COUNT_MAX}.")
    contenders = list(_contenders(models))
    return [wanted for prompt in prompts for model in contenders for wanted in _missing(prompt, model, count)]


def _contenders(slugs: Sequence[str]) -> Iterator[LanguageModel]:
    available = LanguageModel.objects.available().select_related("endpoint")
    if not slugs:
        yield from available.filter(endpoint__cache_seconds__gt=0)
        return
    found = {model.slug: model for model in available.filter(slug__in=slugs)}
    for slug in slugs:
        if slug not in found:
            raise NotFound(f"There is no model {slug} that can be asked now.")
        endpoint = found[slug].endpoint
        if endpoint is None or not endpoint.cache_seconds:
            raise TourneyError(f"The endpoint of {slug} keeps no answers: set its “cache seconds” first.")
        yield found[slug]


def _missing(prompt: Prompt, model: LanguageModel, count: int) -> list[Wanted]:
    # As a first turn sends it: see `requests`.
    messages = (Message("user", prompt_clean(prompt.text, limit=settings.PROMPT_MAX_CHARACTERS)),)
    target = target_for(model)
    missing = count - answers_kept(model=model, target=target, messages=messages)
    return [Wanted(model, target, messages)] * max(missing, 0)


async def answers_warm(
    wanted: Sequence[Wanted], *, at_once: int
) -> AsyncGenerator[tuple[Wanted, GenerationRecord | None], None]:
    """Ask for each, and yield it with its record when it is stored; with None where its model may not be asked any
    more (it rests, or its budget is spent)."""
    places = asyncio.Semaphore(at_once)

    async def ask(each: Wanted) -> tuple[Wanted, GenerationRecord | None]:
        async with places:
            if not await in_database_thread(_may_be_asked)(each.model.pk):
                return each, None
            record = await answer_recorded(each.target, each.messages)
            await in_database_thread(generation_note)(model_id=each.model.pk, user_id=None, record=record)
            return each, record

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(each)) for each in wanted]
        for task in asyncio.as_completed(tasks):
            yield await task


def _may_be_asked(model_id: int) -> bool:
    return LanguageModel.objects.available().filter(pk=model_id).exists()
