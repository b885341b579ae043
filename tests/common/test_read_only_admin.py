"""Whatever programs write is in the admin to look at, and cannot be changed there."""

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import IdempotentRequest
from battles.models import Battle, Preference, Reaction, Response
from common.admin import ReadOnly
from leaderboard.models import Comparison, Rating, Snapshot
from tests import factories

pytestmark = pytest.mark.django_db

WRITTEN_BY_PROGRAMS = [Battle, Response, Preference, Reaction, IdempotentRequest, Comparison, Snapshot, Rating]


@pytest.mark.parametrize("model", WRITTEN_BY_PROGRAMS)
def test_nobody_adds_changes_or_deletes_rows_by_hand(model: type[Model], rf: RequestFactory) -> None:
    page = admin.site.get_model_admin(model)
    assert isinstance(page, ReadOnly)
    request = rf.get("/")
    request.user = factories.staff()
    assert page.has_view_permission(request)
    assert not any(page.get_model_perms(request)[name] for name in ("add", "change", "delete"))


@pytest.mark.parametrize("kind", ["reaction", "request"])
def test_one_row_can_be_looked_at_and_not_changed(kind: str, client: Client) -> None:
    person = factories.staff()
    row: Model
    if kind == "reaction":
        response = Response.objects.filter(turn__battle=factories.battle())[0]
        row = Reaction.objects.create(response=response, user=person, value=Reaction.Value.LIKE)
    else:
        row = IdempotentRequest.objects.create(user=person, key="once", fingerprint="0" * 64)
    client.force_login(person)
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    assert client.get(reverse(f"{name}_changelist")).status_code == 200
    assert client.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200
    assert client.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
    assert client.get(reverse(f"{name}_add")).status_code == 403
    assert client.post(reverse(f"{name}_delete", args=[row.pk])).status_code == 403
