"""A person's data leaves: rows, files, sessions, the name in logs. What the ratings are made of stays, without them."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.audit import person_forget
from accounts.models import Job, User
from battles.models import Battle, Image
from common.audit import Deed, note
from conversations.models import Conversation, Experiment
from evaluations.models import Run, VoteSet
from leaderboard.services import votes_forget
from providers.models import CachedAnswer

log = logging.getLogger(__name__)

# Rows that many others hang on: so many at once, since Django collects all that goes with them in memory.
BATCH = 100


def people_erase_due() -> int:
    """Erase whose closed account's days of grace are over; returns how many. One that fails leaves the others."""
    before = timezone.now() - timedelta(days=settings.ACCOUNT_GRACE_DAYS)
    erased = 0
    for person in User.objects.filter(deletion_asked_at__lte=before, is_active=False):
        try:
            person_erase(person=person)
            erased += 1
        except Exception:  # whatever the database had: the next round tries again, and does only what is left
            log.exception("Person %s could not be erased", person.pk)
    return erased


def person_erase(*, person: User) -> None:
    """Erase everything of a person, in steps that can be begun again; the account itself goes last."""
    pk, name = person.pk, person.username
    _sessions_end(pk)
    for job in Job.objects.filter(owner=person).exclude(file="").iterator():
        job.file.delete(save=False)
    votes_forget(voter_id=pk)
    for owned in (Battle, Conversation, Experiment, Run, VoteSet, Image):
        _delete_in_batches(owned._default_manager.filter(owner=person))
    for answer in CachedAnswer.objects.filter(served_to=person).iterator():
        if not answer.served_to.exclude(pk=pk).exists():
            answer.delete()
    person_forget(person_id=pk, name=name)
    with transaction.atomic():
        subject = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(pk))
        subject.update(object_repr=f"person {pk}")
        person.delete()
        note(Deed(actor_id=None, action="person_erase", subject=f"person {pk}"))


def _delete_in_batches(rows: QuerySet[Any]) -> None:
    while ids := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        model: type[Model] = rows.model
        with transaction.atomic():
            model._default_manager.filter(pk__in=ids).delete()


def _sessions_end(pk: int) -> None:
    """A session says in its own signed text whose it is, so all that live are read."""
    own = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get(SESSION_KEY) == str(pk)
    ]
    Session.objects.filter(pk__in=own).delete()
