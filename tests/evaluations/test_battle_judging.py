"""A judge judges battles that people voted on, and is held against them; what people keep to themselves stays there."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts import jobs
from accounts.models import Job, User
from battles.models import Battle, Preference, Response
from battles.services import preference_record
from evaluations.battles.agreement import battle_agreement
from evaluations.battles.judging import battles_estimate, battles_judge
from evaluations.models import BattleJudgment
from evaluations.services import battle_report_refresh
from leaderboard.models import Comparison
from providers.errors import BudgetSpent
from tests import factories
from tests.evaluations.scripted import Ground

pytestmark = pytest.mark.django_db


def voted(ground: Ground, texts: tuple[str, str], choice: str, *, shares: bool = True, turns: int = 1) -> Battle:
    """A battle of alpha and beta with these first answers, on which somebody voted."""
    person = factories.user(shares_data=shares)
    prompts = [f"Private question {number}?" for number in range(1, turns + 1)]
    battle = factories.battle(person, models=[ground.model("alpha"), ground.model("beta")], prompts=prompts)
    for label, text in zip("ab", texts, strict=True):
        Response.objects.filter(turn__battle=battle, side__label=label).update(text=text)
    preference_record(battle_id=battle.pk, voter=person, choice=choice)
    Preference.objects.update(exclusion="")
    return battle


@pytest.fixture
def owner() -> User:
    return factories.staff()


def test_both_orders_are_asked_and_held_against_people(tiny: Ground, owner: User) -> None:
    # The scripted judge prefers what is later in the alphabet.
    voted(tiny, ("apple", "pear"), "b")
    voted(tiny, ("zebra", "ant"), "b")
    voted(tiny, ("one", "two"), "tie")
    voted(tiny, ("yes", "no"), "both_bad", turns=2)
    judge = tiny.model("judge")
    expected = battles_estimate(judge=judge)
    assert (expected.battles, expected.requests) == (4, 8)
    assert expected.cost is not None
    assert battles_judge(owner=owner, judge=judge) == {"ok": 8}
    found = battle_agreement()["Judge"]
    assert (found["with_ties"]["agreed"], found["with_ties"]["of"]) == (1, 4)
    assert (found["without_ties"]["agreed"], found["without_ties"]["of"]) == (1, 2)
    assert found["flipped_share"] == 0
    assert Comparison.objects.filter(source_kind="judge", judge="Judge").count() == 4
    battles_judge(owner=owner, judge=judge)
    assert len(tiny.upstream.asked("judge")) == 8
    assert Comparison.objects.filter(source_kind="judge").count() == 4


def test_a_flipped_verdict_is_a_tie(tiny: Ground, owner: User) -> None:
    battle = voted(tiny, ("apple", "pear"), "b")
    battles_judge(owner=owner, judge=tiny.model("biased"))
    assert set(BattleJudgment.objects.values_list("game", "winner")) == {(1, "a"), (2, "b")}
    assert Comparison.objects.get(source_kind="judge").outcome == "tie"
    found = battle_agreement()["Biased"]
    assert (found["flipped_share"], found["first_shown_share"]) == (1.0, 1.0)
    assert str(battle.pk) in Comparison.objects.get(source_kind="judge").source_id


def test_whole_conversations_are_judged(tiny: Ground, owner: User) -> None:
    voted(tiny, ("apple", "pear"), "b", turns=2)
    battles_judge(owner=owner, judge=tiny.model("judge"))
    prompt = str(tiny.upstream.asked("judge")[0].messages[-1]["content"])
    assert prompt.count("Private question 2?") == 2
    assert BattleJudgment.objects.first().turns == 2  # type: ignore[union-attr]


def test_who_does_not_share_is_not_shown_to_a_judge(tiny: Ground, owner: User) -> None:
    shared = voted(tiny, ("apple", "pear"), "b")
    voted(tiny, ("secret", "hidden"), "b", shares=False)
    battles_judge(owner=owner, judge=tiny.model("judge"))
    asked = "".join(str(request.messages) for request in tiny.upstream.asked("judge"))
    assert "pear" in asked
    assert "hidden" not in asked
    # Who takes it back is no longer in any figure.
    assert battle_agreement()["Judge"]["votes"] == 1
    User.objects.filter(pk=shared.owner_id).update(shares_data=False)
    assert battle_agreement() == {}


def test_what_people_wrote_is_not_kept_with_the_judgment(tiny: Ground, owner: User) -> None:
    voted(tiny, ("apple", "pear"), "b")
    battles_judge(owner=owner, judge=tiny.model("judge"))
    row = BattleJudgment.objects.values()[0]
    assert "Private" not in str(row)
    assert "pear" not in str(row)


def test_failed_verdicts_are_in_no_figure(tiny: Ground, owner: User) -> None:
    voted(tiny, ("apple", "pear"), "b")
    assert battles_judge(owner=owner, judge=tiny.model("vague")) == {"parse": 2}
    assert battle_agreement()["Vague"]["votes"] == 0
    assert not Comparison.objects.filter(source_kind="judge").exists()


def test_nothing_is_asked_without_money(tiny: Ground, owner: User) -> None:
    voted(tiny, ("apple", "pear"), "b")
    owner.monthly_budget = 0
    owner.save()
    with pytest.raises(BudgetSpent):
        battles_judge(owner=owner, judge=tiny.model("judge"))
    assert not tiny.upstream.asked("judge")


def test_how_far_judges_agree_with_people_is_on_a_page(tiny: Ground, owner: User, client: Client) -> None:
    client.force_login(owner)
    address = reverse("evaluations:battles")
    assert "are being computed" in client.get(address).content.decode()
    battle_report_refresh()
    assert "No battle judged yet" in client.get(address).content.decode()
    voted(tiny, ("apple", "pear"), "b")
    battle = voted(tiny, ("zebra", "ant"), "b")
    battles_judge(owner=owner, judge=tiny.model("judge"))
    battle_report_refresh()
    text = client.get(address).content.decode()
    assert "50.0% (1 of 2)" in text
    assert "0.0% (0 of 2)" in text, "no verdict flipped with the order"
    assert "<svg" in client.get(reverse("evaluations:battles_chart", args=("turns", "svg"))).content.decode()
    User.objects.filter(pk=battle.owner_id).update(shares_data=False)
    assert battle_report_refresh().report["votes"] == 1


def test_the_admin_estimates_and_starts(tiny: Ground, owner: User, client: Client) -> None:
    voted(tiny, ("apple", "pear"), "b")
    tiny.model("judge")
    client.force_login(owner)
    address = reverse("admin:evaluations_battlejudgment_add")
    wanted = {"judge": "judge", "limit": "10"}
    assert "1 pairs of answers, 2 requests" in client.post(address, wanted | {"estimate": "1"}).content.decode()
    assert not Job.objects.exists()
    assert client.post(address, wanted | {"start": "1"}).status_code == 302
    job = Job.objects.get()
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.summary) == ("done", "Judge: 2 ok.")
    assert client.get(reverse("admin:evaluations_battlejudgment_changelist")).status_code == 200
    client.force_login(factories.user())
    assert client.post(address, wanted).status_code in (302, 403)


def test_the_command_estimates_judges_and_compares(tiny: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    voted(tiny, ("apple", "pear"), "b")
    tiny.model("judge")
    call_command("battles_judge", judge_model="judge", estimate=True)
    assert "1 pairs of answers, 2 requests" in capsys.readouterr().err
    call_command("battles_judge", judge_model="judge", limit=5)
    assert "1/1 100.0%" in capsys.readouterr().out
    call_command("battles_judge", agreement=True)
    assert "Judge" in capsys.readouterr().out
    for wrong in ({}, {"judge_model": "nobody"}, {"judge_model": "judge", "limit": 0}):
        with pytest.raises(CommandError):
            call_command("battles_judge", **wrong)
