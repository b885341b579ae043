"""Two conversations side by side: which ones, without names, one vote, and where it counts."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from battles.services import flagged_votes_apply, voter_flag
from conversations import services as conversations
from conversations.comparing import selectors, services
from conversations.comparing.state import pair_state
from conversations.errors import AlreadyVoted, NothingToCompare, TooLate
from conversations.models import Conversation, ConversationPair, Scenario, Side, Turn
from leaderboard.boards import comparisons_of
from leaderboard.models import Board, Comparison
from leaderboard.services import snapshots_rebuild
from providers.adapters.base import Sampling
from providers.models import LanguageModel
from tests import factories
from tests.arena_project.test_guards import ADDRESSES
from tests.conversations import rows

pytestmark = pytest.mark.django_db

LINES = ("Two hundred, and it is yours.", "One hundred and fifty.", "Deal at one hundred and eighty.", "Deal.")
CLUES = ("zebrafish", "quokka", "987654", "31337", "271828", "161803")


@pytest.fixture
def owner() -> User:
    return factories.user()


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.objects.create(
        slug="bicycle", name="A used bicycle", category="negotiation", name_a="Dana", opening="Greet them."
    )


@pytest.fixture
def models() -> list[LanguageModel]:
    """Two models whose every column is a word that occurs nowhere else, and a third that talks with both."""
    named = [
        factories.language_model(
            f"slug-{word}",
            name=f"Name {word}",
            upstream_id=f"upstream/{word}",
            organisation=f"Organisation {word}",
            endpoint=factories.endpoint(f"endpoint-{word}", name=f"Endpoint {word}"),
        )
        for word in ("zebrafish", "quokka")
    ]
    return [*named, factories.language_model("slug-zebrafish-partner")]


def talk(
    owner: User, scenario: Scenario, one: LanguageModel, other: LanguageModel, lines: Any = LINES, **fields: Any
) -> Conversation:
    """A conversation of the scenario between two models that has come to its end."""
    names = {Side.A: "Dana", Side.B: ""}
    agents = {
        side: conversations.AgentSpec(model=model.slug, name=names[side], sampling=Sampling(temperature=0.5))
        for side, model in zip(Side, (one, other), strict=True)
    }
    ended = {"scenario_id": scenario.pk, "state": "ended", "reason": "max_turns", "seed_prompt": "Greet them."}
    row = rows.conversation(owner, lines, agents=agents)
    Conversation.objects.filter(pk=row.pk).update(**ended | fields)
    Turn.objects.filter(conversation=row).update(
        latency_ms=987654, first_token_ms=31337, input_tokens=271828, output_tokens=161803, upstream_model="zebrafish"
    )
    return row


@pytest.fixture
def pair(owner: User, scenario: Scenario, models: list[LanguageModel]) -> ConversationPair:
    """A pair that waits for its vote, drawn long enough ago to have been read."""
    for model in models[:2]:
        talk(owner, scenario, model, models[2])
    drawn = services.pair_draw(voter=owner)
    ConversationPair.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    return drawn


def everything(answer: Any) -> str:
    return answer.content.decode() + json.dumps(dict(answer.headers)) + str(answer.cookies)


def tells(content: str) -> list[str]:
    return [clue for clue in CLUES if clue in content.lower()]


def test_before_the_vote_no_address_of_a_pair_tells_a_model(
    pair: ConversationPair, owner: User, client: Client, api_client: Callable[..., APIClient]
) -> None:
    client.force_login(owner)
    page = client.get(f"/conversations/compare/{pair.pk}/")
    assert "Deal at one hundred and eighty." in page.content.decode()
    caller = api_client(owner, ("read", "vote"))
    answers = [
        *[client.get("/" + route.replace("<uuid:pair_id>", str(pair.pk))) for route in ADDRESSES if "pair_id" in route],
        client.get("/conversations/compare/"),
        client.post("/conversations/compare/", follow=True),
        client.post(f"/conversations/compare/{pair.pk}/vote/", {"choice": "nonsense"}, follow=True),
        client.post(f"/conversations/compare/{pair.pk}/withdraw/", follow=True),
        caller.get("/api/v1/conversations/pairs/"),
        caller.post("/api/v1/conversations/pairs/"),
        caller.get(f"/api/v1/conversations/pairs/{pair.pk}/"),
        caller.post(f"/api/v1/conversations/pairs/{pair.pk}/preference/", {"choice": "nonsense"}, format="json"),
        caller.post(f"/api/v1/conversations/pairs/{pair.pk}/preference/", {"choice": "a", "reasons": ["x"]}, "json"),
    ]
    ids = [
        str(pair.conversation_a_id),
        str(pair.conversation_b_id),
        *map(str, Turn.objects.values_list("pk", flat=True)),
    ]
    for answer in answers:
        said = everything(answer)
        assert not tells(said), answer.request["PATH_INFO"]
        assert not [one for one in ids if one in said], answer.request["PATH_INFO"]
    assert not ConversationPair.objects.exclude(decided_at=None).exists()


def test_a_vote_reveals_is_kept_once_and_counts_on_a_board_of_its_own(
    pair: ConversationPair, owner: User, client: Client
) -> None:
    client.force_login(owner)
    said = {"choice": "a", "reasons": ["clear"], "comment": "Kinder."}
    page = client.post(f"/conversations/compare/{pair.pk}/vote/", said, follow=True).content.decode()
    assert "Name zebrafish" in page
    assert "Name quokka" in page
    assert str(pair.conversation_a_id) in page
    comparison = Comparison.objects.get()
    shown = selectors.pair_whole(pair_id=pair.pk, viewer=owner)
    first = shown.conversation_a.agents.get(side="a")
    assert (comparison.outcome, comparison.model_a_id) == ("a", first.model_id)
    assert (comparison.source_kind, comparison.mode, comparison.category) == ("conversation", "talk", "negotiation")
    assert (comparison.is_blind, comparison.exclusion, comparison.voter) == (True, "", owner)
    assert not comparisons_of(Board.objects.get(slug="main")).exists()
    assert comparisons_of(Board.objects.get(slug="conversations")).get() == comparison
    assert {one.board.slug for one in snapshots_rebuild() if one.comparisons} == {"conversations"}
    with pytest.raises(AlreadyVoted):
        services.pair_vote(pair_id=pair.pk, voter=owner, choice="b")
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=owner)
    assert "You have compared all there are" in client.post("/conversations/compare/").content.decode()


def test_the_next_pair_is_the_one_that_waits(pair: ConversationPair, owner: User) -> None:
    assert services.pair_draw(voter=owner) == pair
    conversations.conversation_delete(conversation_id=pair.conversation_a_id, owner=owner)
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=owner)


def test_a_vote_is_taken_back_for_a_moment_and_then_no_more(pair: ConversationPair, owner: User) -> None:
    services.pair_vote(pair_id=pair.pk, voter=owner, choice="tie")
    services.pair_withdraw(pair_id=pair.pk, voter=owner)
    assert Comparison.objects.get().exclusion == "withdrawn"
    ConversationPair.objects.update(withdrawn_at=None, decided_at=timezone.now() - timedelta(seconds=16))
    with pytest.raises(TooLate):
        services.pair_withdraw(pair_id=pair.pk, voter=owner)


def test_a_vote_without_reading_and_one_of_a_flagged_person_do_not_count(
    pair: ConversationPair, owner: User, models: list[LanguageModel], scenario: Scenario
) -> None:
    ConversationPair.objects.update(created_at=timezone.now())
    services.pair_vote(pair_id=pair.pk, voter=owner, choice="a")
    assert Comparison.objects.get().exclusion == "too_fast"
    Comparison.objects.update(exclusion="")
    voter_flag(voter=owner, reason="clicks blindly", actor=None)
    assert flagged_votes_apply(voter_id=owner.pk) == 1
    assert Comparison.objects.get().exclusion == "flagged"


def test_who_has_read_one_with_its_names_does_not_vote_blind(
    pair: ConversationPair, owner: User, client: Client
) -> None:
    client.force_login(owner)
    assert client.get(f"/conversations/{pair.conversation_b_id}/").status_code == 200
    services.pair_vote(pair_id=pair.pk, voter=owner, choice="b")
    assert not Comparison.objects.get().is_blind
    assert not comparisons_of(Board.objects.get(slug="conversations")).exists()


def test_nobody_else_sees_a_pair_or_votes_on_it(pair: ConversationPair, client: Client) -> None:
    client.force_login(factories.staff())
    assert client.get(f"/conversations/compare/{pair.pk}/").status_code == 404
    assert client.post(f"/conversations/compare/{pair.pk}/vote/", {"choice": "a"}).status_code == 404
    assert client.post(f"/conversations/compare/{pair.pk}/withdraw/").status_code == 404


def test_a_persons_votes_go_with_them_and_their_comparisons_lose_their_name(
    pair: ConversationPair, owner: User
) -> None:
    services.pair_vote(pair_id=pair.pk, voter=owner, choice="a")
    owner.delete()
    assert not ConversationPair.objects.exists()
    assert Comparison.objects.get().voter is None


UNSOUND: dict[str, dict[str, Any]] = {
    "stopped": {"reason": "stopped"},
    "imported": {"reason": "imported"},
    "under way": {"state": "paused", "reason": "asked"},
    "another opening": {"seed_prompt": "Say hello."},
    "more turns": {"max_turns": 12},
    "of no scenario": {"scenario_id": None},
    "deleted": {"deleted_at": timezone.now()},
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_differs_in_more_than_a_model_is_not_compared(
    name: str, owner: User, scenario: Scenario, models: list[LanguageModel]
) -> None:
    talk(owner, scenario, models[0], models[2])
    talk(owner, scenario, models[1], models[2], **UNSOUND[name])
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=owner)


def test_the_unit_is_one_model_in_one_part_or_in_both(
    owner: User, scenario: Scenario, models: list[LanguageModel]
) -> None:
    one, other, third = models
    talk(owner, scenario, one, third)
    talk(owner, scenario, third, other)  # both parts differ: of whom would a vote speak?
    assert selectors.pair_next(owner) is None
    talk(owner, scenario, one, other)
    sides = set()
    while selectors.pair_next(owner):
        drawn = services.pair_draw(voter=owner)
        sides.add(drawn.side)
        services.pair_vote(pair_id=drawn.pk, voter=owner, choice="tie")
    assert sides == {"a", "b"}
    assert ConversationPair.objects.count() == 2
    talk(owner, scenario, one, one)
    alone = talk(owner, scenario, other, other)
    found = [services.pair_draw(voter=owner)]
    while True:
        services.pair_vote(pair_id=found[-1].pk, voter=owner, choice="tie")
        try:
            found.append(services.pair_draw(voter=owner))
        except NothingToCompare:
            break
    both = [one for one in found if not one.side]
    assert len(both) == 1
    assert alone.pk in (both[0].conversation_a_id, both[0].conversation_b_id)


@pytest.mark.parametrize(
    "says", ["I am Name Zebrafish, and I sell it.", "As an AI trained by OpenAI, I cannot haggle."]
)
def test_a_conversation_that_names_a_model_is_not_shown(
    says: str, owner: User, scenario: Scenario, models: list[LanguageModel]
) -> None:
    talk(owner, scenario, models[0], models[2])
    talk(owner, scenario, models[1], models[2], lines=[*LINES, says])
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=owner)


def test_a_name_that_somebody_gave_an_agent_is_not_shown(
    pair: ConversationPair, owner: User, models: list[LanguageModel]
) -> None:
    shown = pair_state(selectors.pair_whole(pair_id=pair.pk, viewer=owner))
    assert shown["parts"] == {"a": "Dana", "b": "Agent B"}
    for row in (pair.conversation_a, pair.conversation_b):
        row.agents.filter(side="a").update(name="Quokka")
    shown = pair_state(selectors.pair_whole(pair_id=pair.pk, viewer=owner))
    assert shown["parts"]["a"] == "Agent A"
    assert not tells(json.dumps(shown))


def test_position_says_nothing(owner: User, scenario: Scenario, models: list[LanguageModel]) -> None:
    for model in models[:2]:
        talk(owner, scenario, model, models[2])
    shown_first = []
    for _ in range(60):
        found = selectors.pair_next(owner)
        assert found
        shown_first.append(found.differs.model_a == models[0].pk)
    assert 10 < sum(shown_first) < 50


def test_programs_draw_vote_and_read_what_they_said(
    pair: ConversationPair, owner: User, api_client: Callable[..., APIClient]
) -> None:
    caller = api_client(owner, ("read", "vote"))
    drawn = caller.post("/api/v1/conversations/pairs/").json()
    assert drawn["id"] == str(pair.pk)
    assert [len(one["turns"]) for one in drawn["conversations"]] == [4, 4]
    address = f"/api/v1/conversations/pairs/{pair.pk}/preference/"
    answer = caller.post(address, {"choice": "both_bad", "reasons": ["clear"]}, format="json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["conversations"][0]["agents"][0]["model"].startswith("slug-")
    assert caller.post(address, {"choice": "a"}, format="json").status_code == 409
    assert caller.post(f"{address}withdraw/").json()["preference"]["is_withdrawn"]
    listed = caller.get("/api/v1/conversations/pairs/").json()["results"]
    assert [(one["choice"], one["is_withdrawn"]) for one in listed] == [("both_bad", True)]
    assert caller.post("/api/v1/conversations/pairs/").json()["error"]["code"] == "nothing_to_compare"


def test_a_pair_is_shown_in_a_fixed_number_of_queries(
    pair: ConversationPair, owner: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(6):
        pair_state(selectors.pair_whole(pair_id=pair.pk, viewer=owner))
