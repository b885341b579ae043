"""Real votes on real texts leave as the pairs that a plain reading of the files gives."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from battles.models import Battle, Preference, Response, Side, Turn
from tests import factories
from tests.battles.test_exports import exported

pytestmark = pytest.mark.django_db
VOTES = 1200


@pytest.fixture
def crowd(shared_data: Path) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Votes, each with the prompt and both texts; stored as battles of people here, and as they stand in the files."""
    folder = shared_data / "battles"
    with (folder / "pairs-crowd.jsonl").open(encoding="utf-8") as file:
        pairs = {str(pair["id"]): pair for pair in map(json.loads, file)}
    with (folder / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        votes = [(pairs[row["id"]], row) for row in csv.DictReader(file)][:VOTES]
    people = {worker: factories.user(f"worker{worker}") for worker in {row["worker"] for _, row in votes}}
    names = sorted({row[side] for _, row in votes for side in ("left", "right")})
    models = {name: factories.language_model(f"crowd-{number}", name=name) for number, name in enumerate(names)}
    battles = Battle.objects.bulk_create([Battle(owner=people[row["worker"]]) for _, row in votes])
    turns = Turn.objects.bulk_create(
        [Turn(battle=b, number=1, prompt=pair["text"]) for b, (pair, _) in zip(battles, votes, strict=True)]
    )
    sides = Side.objects.bulk_create(
        Side(battle=b, label=label, model=models[row[name]])
        for b, (_, row) in zip(battles, votes, strict=True)
        for label, name in (("a", "left"), ("b", "right"))
    )
    texts = [pair[name] for pair, _ in votes for name in ("result_x", "result_y")]
    Response.objects.bulk_create(
        Response(turn=turns[i // 2], side=side, model_id=side.model_id, status="finished", text=texts[i])
        for i, side in enumerate(sides)
    )
    Preference.objects.bulk_create(
        Preference(
            battle=b,
            voter=people[row["worker"]],
            choice="tie" if row["winner"] == "tie" else "winner",
            winner=None if row["winner"] == "tie" else sides[2 * i + (row["winner"] == "right")],
            turns=1,
            created_at=timezone.now(),
        )
        for i, (b, (_, row)) in enumerate(zip(battles, votes, strict=True))
    )
    return votes


def test_crowd_votes_give_the_pairs_that_stand_in_the_files(crowd: list[tuple[dict[str, Any], dict[str, str]]]) -> None:
    expected = set()
    for pair, row in crowd:
        left, right = pair["result_x"], pair["result_y"]
        if row["winner"] != "tie" and left.strip() and right.strip() and left != right:
            chosen, rejected = (left, right) if row["winner"] == "left" else (right, left)
            expected.add((pair["text"], chosen, rejected))
    rows = [(row["prompt"], row["chosen"], row["rejected"]) for row in exported()]
    assert len(rows) == len(set(rows)) > VOTES / 4
    assert set(rows) == expected


def test_crowd_votes_in_arena_shape_keep_every_outcome(crowd: list[tuple[dict[str, Any], dict[str, str]]]) -> None:
    words = {"left": "model_a", "right": "model_b", "tie": "tie"}
    whole = [(pair, row) for pair, row in crowd if pair["result_x"].strip() and pair["result_y"].strip()]
    expected = [words[row["winner"]] for pair, row in whole if pair["result_x"] != pair["result_y"]]
    assert [row["winner"] for row in exported("battles")] == expected
