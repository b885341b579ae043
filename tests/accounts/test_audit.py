"""The log of what was done: whose hand it was, what it was, and that nobody can change it afterwards."""

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts import services
from accounts.errors import AuditIsFinal
from accounts.models import AuditEntry, User
from common.audit import Deed, note
from providers.models import Endpoint
from tests import factories

pytestmark = pytest.mark.django_db


def entry(actor: User | None = None) -> AuditEntry:
    note(Deed(actor_id=actor and actor.pk, action="test", subject="one", detail={"reason": "because"}))
    return AuditEntry.objects.latest("id")


def form_values(client: Client, page: str) -> dict[str, Any]:
    """What a browser would send of an untouched form."""
    form = client.get(page).context["adminform"].form
    given = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in given.items() if value is not None and value is not False}


@pytest.mark.parametrize(
    "statement",
    ["UPDATE {} SET action = 'x'", "UPDATE {} SET detail = '{{}}'", "UPDATE {} SET actor_id = NULL, subject = 'x'",
     "DELETE FROM {}"],
)  # fmt: skip
def test_the_database_refuses_to_change_or_delete_an_entry(statement: str) -> None:
    before = AuditEntry.objects.values().get(pk=entry(factories.user()).pk)
    with pytest.raises(DatabaseError, match="only ever added to"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(AuditEntry._meta.db_table))
    assert AuditEntry.objects.values().get(pk=before["id"]) == before


def test_the_database_refuses_another_actor() -> None:
    row = entry(factories.user())
    other = factories.user()
    with pytest.raises(DatabaseError, match="only ever added to"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {AuditEntry._meta.db_table} SET actor_id = %s WHERE id = %s", [other.pk, row.pk])


def test_rows_and_querysets_refuse_too() -> None:
    row = entry()
    for change in (row.save, row.delete, AuditEntry.objects.all().delete, lambda: AuditEntry.objects.update(action="")):
        with pytest.raises(AuditIsFinal):
            change()


def test_an_entry_outlives_its_actor() -> None:
    actor = factories.user()
    row = entry(actor)
    actor.delete()
    row.refresh_from_db()
    assert row.actor is None
    assert row.detail == {"reason": "because"}


def test_what_is_rolled_back_was_not_done() -> None:
    with transaction.atomic():
        entry()
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()


def test_keys_are_noted_when_they_come_and_go_and_their_secret_is_not() -> None:
    person, admin = factories.user("ada"), factories.staff()
    key, text = services.apikey_issue(user=person, name="notebook", scopes=["read"])
    services.apikey_revoke(user=person, apikey_id=key.pk, actor=admin)
    services.apikey_revoke(user=person, apikey_id=key.pk, actor=admin)
    rows = AuditEntry.objects.order_by("id").values_list("actor", "action", "subject", "detail__of")
    assert list(rows) == [
        (person.pk, "apikey_issue", key.prefix, "ada"), (admin.pk, "apikey_revoke", key.prefix, "ada"),
    ]  # fmt: skip
    secret = text.rpartition("_")[2]
    assert not any(secret in str(row.detail) for row in AuditEntry.objects.all())


def test_a_change_of_roles_says_what_they_were(client: Client) -> None:
    admin, person = factories.staff(), factories.user("ada")
    client.force_login(admin)
    page = reverse("admin:accounts_user_change", args=[person.pk])
    values = form_values(client, page)
    joined = {"date_joined_0": person.date_joined.date().isoformat(), "date_joined_1": "10:00:00"}
    answer = client.post(page, {**values, **joined, "is_staff": "on", "monthly_budget": ""})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    row = AuditEntry.objects.get(action="roles_change")
    assert (row.actor, row.subject, row.detail) == (admin, "ada", {"is_staff": [False, True]})


def test_endpoints_are_noted_by_the_names_of_their_fields_and_never_by_a_key(client: Client) -> None:
    admin, row = factories.staff(), factories.endpoint("here")
    client.force_login(admin)
    page = reverse("admin:providers_endpoint_change", args=[row.pk])
    values = form_values(client, page)
    inline = {"language_models-TOTAL_FORMS": 0, "language_models-INITIAL_FORMS": 0}
    answer = client.post(page, {**values, **inline, "max_streams": 3, "new_key": "sk-very-secret"})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    noted = AuditEntry.objects.get(action="endpoint_change")
    assert noted.actor == admin
    assert "streams" in str(noted.detail).lower()
    client.post(reverse("admin:providers_endpoint_changelist"), {"action": "disable", "_selected_action": [row.pk]})
    assert not Endpoint.objects.get().is_enabled
    assert AuditEntry.objects.filter(action="endpoint_action", subject="disable", actor=admin).exists()
    assert "sk-very-secret" not in str(list(AuditEntry.objects.values()))


def test_the_log_is_in_the_admin_to_look_at(client: Client) -> None:
    row = entry()
    client.force_login(factories.staff())
    assert client.get(reverse("admin:accounts_auditentry_changelist")).status_code == 200
    assert client.get(reverse("admin:accounts_auditentry_change", args=[row.pk])).status_code == 200
    assert client.post(reverse("admin:accounts_auditentry_delete", args=[row.pk])).status_code == 403
