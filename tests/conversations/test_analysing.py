"""What an experiment shows, on examples by hand, and on its page."""

import numpy as np
import pytest
from django.test import Client

from conversations.experiments import services
from conversations.experiments.analysing import Fact, compare, summarise
from conversations.models import Turn
from conversations.services import scenarios_seed
from tests import factories


def _facts(**groups: list[list[float]]) -> list[Fact]:
    return [
        Fact(group, f"{group}{at}", value)
        for group, conversations in groups.items()
        for at, values in enumerate(conversations)
        for value in values
    ]


def test_a_distribution_by_hand() -> None:
    (one,) = summarise(_facts(a=[[1, 2], [3, 4], [5]]))
    assert (one.turns, one.conversations, one.mean, one.median, one.first, one.third) == (5, 3, 3, 3, 2, 4)
    assert one.lower is not None
    assert one.upper is not None
    assert 1.5 <= one.lower < 3 < one.upper <= 5
    assert summarise(_facts(a=[[1, 2], [3]]))[0].lower is None


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        conversations = [[float(10 + shift + random.normal()) for _ in range(4)] for shift in random.normal(size=25)]
        (one,) = summarise(_facts(a=conversations))
        assert one.lower is not None
        assert one.upper is not None
        held += one.lower <= 10 <= one.upper
    assert 86 <= held <= 100


def test_two_groups_by_hand_and_the_other_way_round() -> None:
    facts = _facts(a=[[1], [2], [3]], b=[[4], [5], [6]])
    found, turned = compare(facts, "a", "b"), compare(facts, "b", "a")
    assert found is not None
    assert turned is not None
    assert (found.delta, found.difference, found.size) == (-1, -3, "large")
    assert (turned.delta, turned.p) == (1, found.p)
    assert found.p == pytest.approx(0.1)  # 2 of the 20 ways to choose three of six
    same = compare(_facts(a=[[1]] * 3, b=[[1]] * 3), "a", "b")
    assert same is not None
    assert (same.delta, same.p, same.size) == (0, 1, "negligible")
    assert compare(_facts(a=[[1], [2]], b=[[1], [2]]), "a", "b") is None


@pytest.mark.django_db
@pytest.mark.parametrize("measure", ["latency_ms", "output_tokens", "length", "refusals"])
@pytest.mark.parametrize("by", ["model", "scenario", "turn"])
def test_the_page_shows_every_measure_by_every_group(client: Client, measure: str, by: str) -> None:
    scenarios_seed()
    owner = factories.user()
    models = {slug: factories.language_model(slug) for slug in ("one", "other")}
    grid = {"name": "x", "models": list(models), "scenarios": ["fractions", "night-bus"], "iterations": 3, "turns": 2}
    made = services.experiment_create(owner=owner, given=grid)
    services.conversations_make(experiment=made)
    Turn.objects.bulk_create(
        Turn(
            conversation=conversation, position=number, number=number, speaker="ab"[number - 1],
            model=list(conversation.agents.order_by("side"))[number - 1].model, text="word " * number,
            status="finished", latency_ms=100 * number, output_tokens=number,
        )
        for conversation in made.conversations.all()
        for number in (1, 2)
    )  # fmt: skip
    client.force_login(owner)
    page = client.get(f"/conversations/experiments/{made.pk}/analyse/", {"measure": measure, "by": by})
    assert page.status_code == 200
    assert '<svg class="boxes"' in page.content.decode()
    assert "Cliff" in page.content.decode()
    assert client.get(f"/conversations/experiments/{made.pk}/analyse/?measure=nonsense").status_code == 200
    client.force_login(factories.user())
    assert client.get(f"/conversations/experiments/{made.pk}/analyse/").status_code == 404
