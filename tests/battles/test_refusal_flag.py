"""Whether an answer declines is kept with it once it has ended, told in exports, and in nothing that a voter sees."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from battles.exports.export import Export
from battles.exports.selection import Selection
from battles.models import Response
from battles.services import preference_record
from battles.services import response_save as save
from providers.live_types import GenerationRecord
from tests import factories

pytestmark = pytest.mark.django_db
DECLINES = "I'm sorry, but I can't help with that."


def test_an_answer_that_ended_is_flagged_and_one_under_way_is_not(client: Client) -> None:
    battle = factories.battle()
    first, second = Response.objects.order_by("side__label")
    save(response_id=first.pk, record=GenerationRecord(status="streaming", text=DECLINES))
    assert not Response.objects.filter(is_refusal=True).exists()
    save(response_id=first.pk, record=GenerationRecord(status="finished", text=DECLINES))
    save(response_id=second.pk, record=GenerationRecord(status="finished", text="Rayleigh scattering."))
    assert list(Response.objects.filter(is_refusal=True)) == [first]
    client.force_login(battle.owner)
    page = client.get(reverse("battles:detail", args=[battle.pk]))
    assert page.status_code == 200
    assert "is_refusal" not in page.content.decode()
    preference_record(battle_id=battle.pk, voter=battle.owner, choice="b")
    export = Export(kind="battles", format="jsonl", selection=Selection(owner_id=battle.owner_id))
    (row,) = [json.loads(line) for line in b"".join(export.pieces()).splitlines()]
    assert (row["refusal_a"], row["refusal_b"]) == (True, False)


def test_the_finish_reason_is_enough() -> None:
    factories.battle()
    answer = Response.objects.first()
    assert answer
    save(response_id=answer.pk, record=GenerationRecord(status="finished", text="Well", finish_reason="content_filter"))
    answer.refresh_from_db()
    assert answer.is_refusal
