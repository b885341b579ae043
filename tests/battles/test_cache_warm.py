"""Suggested prompts are asked ahead; whoever picks one gets that answer, word for word."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from battles import services
from battles.models import Battle, Prompt, PromptSet
from providers.models import CachedAnswer, LanguageModel, Usage
from tests import factories
from tests.fakes.scripts import PLAIN, Answer
from tests.fakes.upstream import Upstream

# The command's own loop stores in another thread.
pytestmark = pytest.mark.django_db(transaction=True)

PROMPTS = ("Why is the sky blue?", "  Name three colours.\n")


@pytest.fixture
def upstream() -> Any:
    with Upstream({"quick": Answer(PLAIN, seconds_a_token=0)}) as upstream:
        yield upstream


@pytest.fixture
def model(upstream: Upstream) -> LanguageModel:
    PromptSet.objects.all().delete()
    prompt_set = PromptSet.objects.create(slug="ideas", name="Ideas", is_suggested=True)
    for text in PROMPTS:
        Prompt.objects.create(prompt_set=prompt_set, text=text)
    endpoint = factories.endpoint(base_url=upstream.url, cache_seconds=3600, first_token_timeout=2)
    return factories.language_model("quick", endpoint=endpoint, system_prompt="Be brief.", temperature=0.5)


def warm(*arguments: str) -> str:
    out = io.StringIO()
    call_command("cache_warm", *arguments, stdout=out)
    return out.getvalue()


def test_a_suggested_prompt_is_answered_from_the_store_afterwards(model: LanguageModel, upstream: Upstream) -> None:
    assert "2/2 quick: kept" in warm()
    assert len(upstream.asked("quick")) == 2
    assert Usage.objects.get(user=None).requests == 2
    for prompt in PROMPTS:
        begun = services.battle_start(
            owner=factories.user(),
            prompt=prompt,
            mode=Battle.Mode.NAMED,
            models=[model.slug, factories.language_model().slug],
        )
        kept = [request.kept.text for request in begun.requests if request.kept]
        assert kept == [PLAIN]


def test_a_second_run_asks_only_for_what_is_missing(model: LanguageModel, upstream: Upstream) -> None:
    warm("--prompt-set", "ideas", "--models", "quick")
    assert "Nothing to do" in warm()
    CachedAnswer.objects.latest("pk").delete()
    warm("--count", "2")
    assert len(upstream.asked("quick")) == 5
    assert CachedAnswer.objects.count() == 4


def test_a_model_that_fails_is_named_left_alone_when_it_rests_and_ends_in_an_error(model: LanguageModel) -> None:
    LanguageModel.objects.update(upstream_id="refuses-401")
    with pytest.raises(CommandError, match="0 of 8 answers kept"):
        warm("--count", "4", "--at-once", "1")
    assert Usage.objects.get().failures == 5, "after five failures it rests, and is not asked again"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--prompt-set", "unknown"), "no prompt set unknown"),
        (("--models", "unknown"), "no model unknown"),
        (("--models", "forgetful"), "keeps no answers"),
        (("--count", "0"), "from 1 to"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(model: LanguageModel, arguments: tuple[str, ...], words: str) -> None:
    factories.language_model("forgetful")
    with pytest.raises(CommandError, match=words):
        warm(*arguments)
    assert not CachedAnswer.objects.exists()
