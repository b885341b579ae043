"""Votes that rules and administrators leave out: each path through the real vote, what the voter sees of it (nothing),
and how it is taken back."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.errors import ReasonMissing
from accounts.models import AuditEntry, User
from battles import services
from battles.excluding import flagged_votes_apply, flags_sweep
from battles.models import Battle, Preference, Response
from leaderboard.exclusions import exclusions_summary
from leaderboard.models import Comparison
from tests import factories

pytestmark = pytest.mark.django_db


def read_for(battle: Battle, seconds: float, *, words: int = 40) -> Battle:
    """Have both answers of `words` words have come, at once, so many seconds ago."""
    now = timezone.now()
    Response.objects.filter(turn__battle=battle).update(
        text="word " * words,
        started_at=now - timedelta(seconds=seconds + 0.1),
        first_token_ms=50,
        finished_at=now - timedelta(seconds=seconds),
    )
    return battle


def vote(battle: Battle) -> Preference:
    return services.preference_record(battle_id=battle.pk, voter=battle.owner, choice="a")


def exclusions(voter: User) -> list[str]:
    """What the person's votes say, oldest first, and that their comparisons say the same."""
    votes = list(Preference.objects.filter(voter=voter).order_by("pk"))
    for one in votes:
        assert Comparison.objects.get(source_id=str(one.battle_id)).exclusion == one.exclusion
    return [one.exclusion for one in votes]


def test_a_vote_too_fast_to_have_read_does_not_count() -> None:
    assert vote(read_for(factories.battle(), 1.5)).exclusion == "too_fast"  # 40 words take 1.6 s, and 1 s
    assert vote(read_for(factories.battle(), 2.7)).exclusion == ""


def test_the_pace_is_a_setting(settings: Any) -> None:
    settings.VOTE_WORDS_PER_MINUTE = 0
    assert vote(read_for(factories.battle(), 0)).exclusion == ""


def test_votes_beyond_the_rate_do_not_count_and_later_ones_do(settings: Any) -> None:
    settings.VOTES_PER_MINUTE = 2
    person = factories.user()
    for _ in range(3):
        vote(factories.battle(person))
    assert exclusions(person) == ["", "", "rate"]
    Preference.objects.update(created_at=timezone.now() - timedelta(seconds=61))
    assert vote(factories.battle(person)).exclusion == ""
    assert vote(factories.battle()).exclusion == ""  # somebody else's pace is their own
    settings.VOTES_PER_HOUR = 4
    assert vote(factories.battle(person)).exclusion == "rate"


def test_a_vote_after_the_models_were_known_does_not_count() -> None:
    battle = factories.battle()
    Battle.objects.filter(pk=battle.pk).update(revealed_at=timezone.now())
    assert vote(battle).exclusion == "after_reveal"


def test_a_flag_takes_out_votes_and_lifting_it_brings_back_those_that_nothing_else_is_against() -> None:
    person, admin = factories.user(), factories.staff()
    vote(factories.battle(person))
    vote(read_for(factories.battle(person), 0))
    kept = vote(factories.battle(person))
    services.voter_flag(voter=person, reason="votes by a script", actor=admin)
    assert flagged_votes_apply(voter_id=person.pk) == 2
    assert flagged_votes_apply(voter_id=person.pk) == 0
    assert vote(factories.battle(person)).exclusion == "flagged"
    assert exclusions(person) == ["flagged", "too_fast", "flagged", "flagged"]
    services.preferences_count(ids=[kept.pk], reason="we watched this one", actor=admin)
    assert flagged_votes_apply(voter_id=person.pk) == 0  # an administrator's word stands
    services.voter_unflag(voter=person, reason="it was a class", actor=admin)
    assert flags_sweep() == 2
    assert exclusions(person) == ["", "too_fast", "", ""]
    assert services.comparisons_rebuild() == (0, 0, 0)
    actions = AuditEntry.objects.filter(actor=admin).order_by("id").values_list("action", flat=True)
    assert list(actions) == ["user_flag", "preference_count", "user_unflag"]


def test_an_exclusion_is_reversed_with_a_reason_that_the_log_keeps() -> None:
    preference, admin = vote(factories.battle(prompts=["Who are you?"])), factories.staff()
    with pytest.raises(ReasonMissing):
        services.preferences_count(ids=[preference.pk], reason=" ", actor=admin)
    assert services.preferences_count(ids=[preference.pk], reason="a question to a poem", actor=admin) == 1
    assert exclusions(preference.voter) == [""]
    row = AuditEntry.objects.get(action="preference_count")
    assert (row.actor, row.subject) == (admin, str(preference.battle_id))
    assert row.detail == {"reason": "a question to a poem", "was": "asked_identity", "is": ""}
    assert services.preferences_exclude(ids=[preference.pk], reason="it was not", actor=admin) == 1
    assert exclusions(preference.voter) == ["admin"]


def test_what_its_voter_took_back_stays_out() -> None:
    preference = vote(factories.battle())
    services.preference_withdraw(battle_id=preference.battle_id, voter=preference.voter)
    assert services.preferences_count(ids=[preference.pk], reason="why not", actor=factories.staff()) == 0
    assert exclusions(preference.voter) == ["withdrawn"]


def test_a_program_sees_the_same_answer_whether_or_not_its_vote_counts(api_client: Callable[..., APIClient]) -> None:
    person = factories.user()
    client = api_client(person, scopes=("read", "vote"))
    seen = []
    for seconds in (60, 0):
        battle = read_for(factories.battle(person), seconds)
        answer = client.post(f"/api/v1/battles/{battle.pk}/preference/", {"choice": "a"}, format="json")
        seen.append((answer.status_code, shape(answer.json())))
    assert seen[0] == seen[1]
    assert seen[0][0] == 201
    assert exclusions(person) == ["", "too_fast"]


def shape(value: object) -> object:
    """The names and kinds of all that is in an answer; of the vote itself also what it says."""
    if isinstance(value, dict):
        return {
            name: {**inner, "created_at": ""} if name == "preference" and isinstance(inner, dict) else shape(inner)
            for name, inner in value.items()
        }
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def test_the_board_can_say_how_many_are_left_out_and_why() -> None:
    for _ in range(2):
        vote(read_for(factories.battle(), 0))
    vote(factories.battle(prompts=["Who are you?"]))
    vote(factories.battle())
    found = exclusions_summary(Comparison.objects.filter(is_blind=True))
    assert [(row.reason, row.count) for row in found] == [("too_fast", 2), ("asked_identity", 1)]
    assert found[0].label == "Too fast to have read the answers"


def test_the_admin_leaves_out_and_counts_again_with_a_reason(client: Client) -> None:
    preference, admin = vote(factories.battle()), factories.staff()
    client.force_login(admin)
    page = reverse("admin:battles_preference_changelist")

    def act(action: str, reason: str) -> str:
        body = {"action": action, "_selected_action": [preference.pk], "reason": reason}
        return client.post(page, body, follow=True).content.decode()

    assert "Please say why" in act("leave_out", "")
    assert exclusions(preference.voter) == [""]
    act("leave_out", "tested")
    assert exclusions(preference.voter) == ["admin"]
    assert client.get(page, {"exclusion": "admin"}).context["cl"].result_count == 1
    assert client.get(page, {"exclusion": "rate"}).context["cl"].result_count == 0
    battles = reverse("admin:battles_battle_changelist")
    assert client.get(battles, {"preferences__exclusion": "admin"}).context["cl"].result_count == 1
    act("count_again", "no more")
    assert exclusions(preference.voter) == [""]


def test_the_admin_flags_a_voter_with_a_reason(client: Client) -> None:
    person, admin = vote(factories.battle()).voter, factories.staff()
    client.force_login(admin)
    page = reverse("admin:battles_voter_changelist")
    assert client.get(page).status_code == 200
    body = {"action": "flag", "_selected_action": [person.pk], "reason": "all left"}
    assert client.post(page, body, follow=True).status_code == 200
    person.refresh_from_db()
    assert person.flagged_at
    assert person.flag_reason == "all left"
    client.post(page, {**body, "action": "unflag"})
    person.refresh_from_db()
    assert person.flagged_at is None
