"""A person's data can be taken along, leaves everywhere, and is not kept for longer than the settings say."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import models
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import jobs, services
from accounts.models import ApiKey, AuditEntry, IdempotentRequest, Job, User
from arena_project.people.erasing import people_erase_due, person_erase
from arena_project.people.exporting import PARTS, account_export_request, export_write
from arena_project.people.personal import PERSONAL, Fate
from arena_project.people.retention import RULES, retention_apply
from battles.ballots import comparisons_rebuild
from battles.models import Battle, Image, Reaction, Response
from battles.services import preference_record
from common.audit import Deed, note
from conversations.comparing.services import SOURCE as TALKS
from conversations.models import Conversation, ConversationPair, Experiment, Scenario
from evaluations.models import PersonVote, QuestionSet, Run, TalkJudgment, VoteSet
from leaderboard.models import MAIN, Board, Comparison, Rating, Review, Snapshot, VoterScore
from providers.models import CachedAnswer, Usage
from tests import factories
from tests.conversations import rows as conversation_rows

pytestmark = pytest.mark.django_db

LONG_AGO = timezone.now() - timedelta(days=400)


def links() -> Iterator[tuple[str, Any]]:
    """Every column, or table between, that points to a person, as `app.Model.field`; Django's own groups and
    permissions hang on the person's row."""
    for model in apps.get_models():
        for field in [*model._meta.local_fields, *model._meta.local_many_to_many]:
            target = field.related_model
            if not isinstance(target, type) or not issubclass(target, User) or model._meta.proxy:
                continue
            yield f"{model._meta.label}.{field.name}", field


def rows_of(label: str, person: User) -> models.QuerySet[Any]:
    app, model, field = label.split(".")
    return apps.get_model(app, model)._default_manager.filter(**{field: person})


def _ranking_of(person: User) -> None:
    board = Board.objects.get(slug=MAIN)
    snapshot = Snapshot.objects.create(board=board, person=person, comparisons=1, voters=1, seconds=0, code_version="0")
    figures = dict.fromkeys(("wins", "losses", "ties", "both_bad", "comparisons"), 1)
    Rating.objects.create(snapshot=snapshot, model=factories.language_model(), rank=1, rating=1000, **figures)


def _comparing_of(person: User) -> ConversationPair:
    """A pair that was voted on, with the comparison that came of it, and a judge's opinion."""
    one, other = (conversation_rows.conversation(person) for _ in range(2))
    models_ = dict(zip(("model_a", "model_b"), (talk.agents.get(side="a").model for talk in (one, other)), strict=True))
    pair = ConversationPair.objects.create(
        voter=person, conversation_a=one, conversation_b=other, key=f"{one.pk}", side="a", choice="a",
        comment="zanzibar heard this", decided_at=timezone.now(), **models_,
    )  # fmt: skip
    Comparison.objects.create(
        outcome="a", source_kind=TALKS, source_id=str(pair.pk), voter=person, mode="talk", is_blind=True,
        created_at=timezone.now(), **models_,
    )  # fmt: skip
    TalkJudgment.objects.create(
        owner=person, judge=factories.language_model(), conversation=one, prompt_version="1", state="ok", score_a=7
    )
    return pair


def person_with_everything() -> User:
    """Somebody with a row in every place that points to people."""
    person = factories.user("zanzibar", email="zanzibar@example.org")
    services.apikey_issue(user=person, name="notebook", scopes=["read"])
    note(Deed(actor_id=person.pk, action="test"))
    note(Deed(actor_id=None, action="user_flag", subject=person.username, detail={"of": person.username}))
    IdempotentRequest.objects.create(user=person, key="k", fingerprint="f")
    Job.objects.create(owner=person, kind="test", file=ContentFile(b"made", name="made.txt"))
    EmailAddress.objects.create(user=person, email=person.email, primary=True)
    of_person = {"content_type": ContentType.objects.get_for_model(User), "object_id": str(person.pk)}
    LogEntry.objects.create(user=person, object_repr=person.username, action_flag=CHANGE, **of_person)
    LogEntry.objects.create(user=factories.staff(), object_repr=person.username, action_flag=CHANGE, **of_person)
    judged = factories.battle(person)
    preference_record(battle_id=judged.pk, voter=person, choice="a", comment="zanzibar wrote this")
    battle = factories.battle(person)  # blind, and not judged
    image = Image(owner=person, turn=battle.turns.get(), media_type="image/png", width=1, height=1)
    image.file.save("a.png", ContentFile(b"picture"))
    Reaction.objects.create(response=Response.objects.filter(turn__battle=judged)[0], user=person, value="like")
    _comparing_of(person)
    Experiment.objects.create(owner=person, name="Mine", grid={}, scenario_versions={})
    Scenario.objects.create(owner=person, slug="mine", name="Mine", opening="Hello.")
    questions = QuestionSet.objects.create(slug="mine", name="Mine")
    Run.objects.create(owner=person, name="mine", question_set=questions)
    votes = VoteSet.objects.create(owner=person, name="mine")
    PersonVote.objects.create(vote_set=votes, question=1, turn=1, model_a="x", model_b="y", person_says="model_a")
    _ranking_of(person)
    VoterScore.objects.create(
        review=Review.objects.create(votes=1, left_out=0, seconds=0), voter=person, decided=1, z=0, p=1, q=1
    )
    model = factories.language_model()
    soon = timezone.now() + timedelta(hours=1)
    for others in (False, True):
        answer = CachedAnswer.objects.create(model=model, request_hash="h", text="t", expires_at=soon)
        answer.served_to.add(person, *([factories.user()] if others else []))
    Usage.objects.create(day=timezone.now().date(), model=model, user=person, requests=3)
    return person


def test_every_place_that_points_to_a_person_is_on_the_list() -> None:
    found = dict(links())
    assert set(found) == set(PERSONAL), "say in people/personal.py what becomes of it, and add a row above"
    for label, place in PERSONAL.items():
        # The table between two others goes with either.
        on_delete = models.CASCADE if found[label].many_to_many else found[label].remote_field.on_delete
        expected = models.CASCADE if place.fate is Fate.ERASED else models.SET_NULL
        assert on_delete is expected, label
        assert bool(place.export) != bool(place.why), label
        assert place.export in {f"{part}.json" for part in PARTS} | {"images/", ""}, label


def test_a_person_who_is_erased_is_nowhere_and_the_ratings_stay() -> None:
    person = person_with_everything()
    client = Client()
    client.force_login(person)
    for label in PERSONAL:
        assert rows_of(label, person).exists(), f"{label} needs a row for this test to mean anything"
    files = [Path(row.file.path) for row in (Job.objects.get(owner=person), Image.objects.get(owner=person))]
    compared = list(Comparison.objects.values_list("outcome", "model_a", "model_b", "exclusion"))
    pk = person.pk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("battles.images.transaction.on_commit", lambda function: function())
        person_erase(person=person)
    person.pk = pk
    for label in PERSONAL:
        assert not rows_of(label, person).exists(), label
    assert not any(file.exists() for file in files)
    assert list(Comparison.objects.values_list("outcome", "model_a", "model_b", "exclusion")) == compared != []
    assert CachedAnswer.objects.count() == 1, "an answer that another person had, too, stays"
    assert not Session.objects.exists()
    assert not User.objects.filter(username="zanzibar").exists()
    log = repr(list(AuditEntry.objects.values())) + repr(list(LogEntry.objects.values()))
    assert "zanzibar" not in log
    assert f"person {pk}" in log
    assert comparisons_rebuild()[2] == 0, "to make comparisons anew must not lose those of people who have left"


def test_the_export_holds_everything_of_its_owner_and_of_nobody_else() -> None:
    person, other = person_with_everything(), factories.user("mombasa")
    factories.battle(other, prompts=["mombasa asks"])
    file = io.BytesIO()
    counts = export_write(file, person, lambda done: None)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for place in PERSONAL.values():
        assert not place.export or any(name.startswith(place.export) for name in parts), place
    data = {name: json.loads(text) for name, text in parts.items() if name.endswith(".json")}
    assert {part: len(rows) for part, rows in data.items()} == {f"{part}.json": counts[part] for part in PARTS}
    assert all(data.values())
    assert next(text for name, text in parts.items() if name.startswith("images/")) == b"picture"
    whole = b"".join(parts.values()).decode()
    assert "mombasa" not in whole
    assert ApiKey.objects.get(user=person).digest not in whole
    assert data["battles.json"][0]["preference"]["comment"] == "zanzibar wrote this"
    assert data["conversation_votes.json"][0]["comment"] == "zanzibar heard this"


def test_the_export_names_no_model_before_the_vote() -> None:
    person = factories.user()
    models_ = [factories.language_model("axolotl-one", name="Axolotl"), factories.language_model("axolotl-two")]
    battle = factories.battle(person, models=models_)
    Response.objects.filter(turn__battle=battle).update(finished_at=timezone.now(), input_tokens=12345)
    for model in models_:
        Usage.objects.create(day=timezone.now().date(), model=model, user=person, requests=1, input_tokens=12345)

    def exported() -> str:
        file = io.BytesIO()
        export_write(file, person, lambda done: None)
        with zipfile.ZipFile(file) as archive:
            return b"".join(archive.read(name) for name in archive.namelist()).decode().lower()

    before = exported()
    assert "answer 1 of side a" in before
    assert not [clue for clue in ("axolotl", "12345", "endpoint", "1234") if clue in before]
    preference_record(battle_id=battle.pk, voter=person, choice="tie")
    assert "axolotl-one" in exported()


def test_a_pair_of_conversations_is_in_the_export_only_with_its_vote() -> None:
    person = factories.user()
    pair = _comparing_of(person)

    def exported() -> Any:
        file = io.BytesIO()
        export_write(file, person, lambda done: None)
        with zipfile.ZipFile(file) as archive:
            return json.loads(archive.read("conversation_votes.json"))

    assert [row["id"] for row in exported()] == [str(pair.pk)]
    ConversationPair.objects.update(choice="", decided_at=None)
    assert exported() == []


def test_a_vote_on_conversations_goes_on_counting_when_they_are_gone() -> None:
    pair = _comparing_of(factories.user())
    Conversation.objects.filter(pk=pair.conversation_b_id).update(deleted_at=LONG_AGO)
    retention_apply()
    assert not ConversationPair.objects.exists()
    assert Comparison.objects.get().voter is None


def test_the_export_is_a_job_of_its_owner(client: Client, api_client: Callable[..., APIClient]) -> None:
    person = factories.user()
    client.force_login(person)
    assert client.post("/account/export/").headers["Location"] == "/account/jobs/"
    job = Job.objects.get(owner=person)
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, zipfile.is_zipfile(job.file.path)) == (Job.State.DONE, True), job.error
    assert api_client().get(f"/api/v1/jobs/{job.pk}/file/").status_code == 404
    program = api_client(person, scopes=("read", "export"))
    made = program.post("/api/v1/account/export/")
    assert (made.status_code, made.json()["job"]["kind"]) == (202, "account_export")
    for _ in range(8):
        account_export_request(owner=person)
    assert program.post("/api/v1/account/export/").status_code == 429


def test_an_account_is_closed_at_once_and_can_be_opened_again(client: Client) -> None:
    person = factories.user("zanzibar", password=factories.PASSWORD)
    _, key = services.apikey_issue(user=person, name="k", scopes=["read"])
    battle = factories.battle(person, share_token="abc", revealed_at=timezone.now(), shared_turns=1)
    client.force_login(person)
    assert Client().get("/s/abc/").status_code == 200
    assert client.post("/account/close/", {"confirm": "somebody"}).status_code == 400
    assert User.objects.get(pk=person.pk).is_active
    assert client.post("/account/close/", {"confirm": "zanzibar"}).status_code == 302
    assert client.get("/account/").status_code == 302
    assert Client().get("/api/v1/models/", headers={"X-API-Key": key}).status_code == 401
    assert Client().get("/s/abc/").status_code == 404
    assert not Client().login(username="zanzibar", password=factories.PASSWORD)
    assert people_erase_due() == 0, "the days of grace are not over"
    services.account_reopen(user=person, actor=factories.staff())
    assert Client().get("/s/abc/").status_code == 200
    assert Battle.objects.filter(pk=battle.pk).exists()


def test_a_closed_account_is_erased_when_its_days_are_over(settings: Any) -> None:
    person = factories.user("zanzibar")
    factories.battle(person)
    services.account_close(user=person, confirmation="zanzibar")
    User.objects.filter(pk=person.pk).update(deletion_asked_at=timezone.now() - timedelta(days=8))
    assert people_erase_due() == 1
    assert not Battle.objects.exists()
    assert AuditEntry.objects.filter(subject=f"person {person.pk}").count() == 2


def test_the_last_administrator_stays(api_client: Callable[..., APIClient]) -> None:
    chief = factories.staff("chief")
    program = api_client(chief)
    refused = program.delete("/api/v1/account/", {"confirm": "chief"}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "last_administrator")
    factories.staff()
    assert program.delete("/api/v1/account/", {"confirm": "chef"}, format="json").status_code == 400
    assert program.delete("/api/v1/account/", {"confirm": "chief"}, format="json").status_code == 202
    assert program.get("/api/v1/account/").status_code == 401


def test_what_has_been_kept_long_enough_goes_and_a_dry_run_only_counts(settings: Any) -> None:
    settings.RETENTION_BATTLES_DAYS = settings.RETENTION_CONVERSATIONS_DAYS = settings.RETENTION_AUDIT_DAYS = 365
    person = factories.user()
    old, shared, deleted, young = (factories.battle(person) for _ in range(4))
    preference_record(battle_id=old.pk, voter=person, choice="a")
    Battle.objects.filter(pk__in=[old.pk, shared.pk]).update(created_at=LONG_AGO)
    Battle.objects.filter(pk=shared.pk).update(share_token="abc", revealed_at=LONG_AGO)
    Battle.objects.filter(pk=deleted.pk).update(deleted_at=LONG_AGO)
    talk = conversation_rows.conversation(person)
    Conversation.objects.filter(pk=talk.pk).update(created_at=LONG_AGO)
    out = io.StringIO()
    call_command("retention", "--dry-run", stdout=out)
    assert "battles that are not shared (RETENTION_BATTLES_DAYS): 1" in out.getvalue()
    assert Battle.objects.count() == 4
    counts = retention_apply()
    assert counts["battles that are not shared"] == counts["battles that were deleted"] == 1
    assert set(Battle.objects.all()) == {shared, young}
    assert not Conversation.objects.exists()
    assert Comparison.objects.get().voter is None
    assert comparisons_rebuild() == (0, 0, 0)
    settings.RETENTION_AUDIT_DAYS = 0
    assert "entries of the audit log" not in retention_apply()


def test_old_entries_of_the_audit_log_go_and_the_log_is_protected_again(settings: Any) -> None:
    from accounts.audit import log_purge

    note(Deed(actor_id=None, action="old"))
    assert log_purge(before=timezone.now() - timedelta(days=1)) == 0
    assert log_purge(before=timezone.now() + timedelta(seconds=1)) == 1
    note(Deed(actor_id=None, action="new"))
    from django.db import DatabaseError, connection, transaction

    with pytest.raises(DatabaseError, match="only ever added to"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_auditentry")


def test_every_setting_of_a_rule_exists(settings: Any) -> None:
    assert all(hasattr(settings, rule.setting) for rule in RULES if rule.setting)
