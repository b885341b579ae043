"""Comparisons come in, and have a leaderboard made."""

import math
from typing import Any
from unittest import mock

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from leaderboard import services, tasks
from leaderboard.errors import ComparisonInvalid
from leaderboard.models import Comparison, Snapshot
from tests import factories
from tests.leaderboard.data import new, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def enqueue(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """Stands for the broker, which no test has."""
    fake = mock.Mock()
    monkeypatch.setattr(tasks.snapshots_rebuild, "apply_async", fake)
    return fake


def test_recording_the_same_judgement_twice_counts_once(enqueue: mock.Mock) -> None:
    one = new(factories.language_model(), factories.language_model())
    services.comparisons_record(comparisons=[one])
    services.comparisons_record(comparisons=[one, one])
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize("wrong", [{"outcome": "draw"}, {"weight": 0.0}, {"weight": -1.0}, {"weight": math.nan}])
def test_a_comparison_that_makes_no_sense_stores_nothing(wrong: dict[str, Any]) -> None:
    a, b = factories.language_model(), factories.language_model()
    with pytest.raises(ComparisonInvalid):
        services.comparisons_record(comparisons=[new(a, b), new(a, b, **wrong)])
    assert not Comparison.objects.exists()


def test_a_model_against_itself_is_refused() -> None:
    model = factories.language_model()
    with pytest.raises(ComparisonInvalid):
        services.comparisons_record(comparisons=[new(model, model)])
    with pytest.raises(IntegrityError), transaction.atomic():
        stored(model, model)


def test_many_votes_ask_for_one_snapshot(
    enqueue: mock.Mock, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    a, b = factories.language_model(), factories.language_model()
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(20):
            services.comparisons_record(comparisons=[new(a, b)])
        assert not enqueue.called
    assert enqueue.call_count == 1
    assert enqueue.call_args.kwargs["countdown"] == pytest.approx(2.0)


@pytest.mark.parametrize("broken", ["apply_async", "cache"])
def test_a_broker_or_cache_that_is_down_fails_no_vote(
    broken: str,
    enqueue: mock.Mock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    if broken == "cache":
        monkeypatch.setattr(services, "cache", mock.Mock(add=mock.Mock(side_effect=ConnectionError)))
    else:
        enqueue.side_effect = ConnectionError
    with django_capture_on_commit_callbacks(execute=True):
        services.comparisons_record(comparisons=[new(factories.language_model(), factories.language_model())])
    assert Comparison.objects.count() == 1
    assert "no snapshot could be requested" in caplog.text


def test_after_a_failed_request_the_next_vote_asks_again(enqueue: mock.Mock) -> None:
    enqueue.side_effect = ConnectionError
    services.snapshots_request()
    enqueue.side_effect = None
    services.snapshots_request()
    assert enqueue.call_count == 2


def test_votes_that_are_left_out_and_counted_again_have_a_snapshot_made(
    enqueue: mock.Mock, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    one = stored(factories.language_model(), factories.language_model())
    with django_capture_on_commit_callbacks(execute=True):
        assert services.comparisons_exclude(comparisons=Comparison.objects.all(), reason="admin") == 1
    assert enqueue.call_count == 1
    one.refresh_from_db()
    assert one.exclusion == "admin"
    assert services.comparisons_exclude(comparisons=Comparison.objects.all(), reason="admin") == 0


def test_the_task_has_its_name_and_makes_the_snapshot() -> None:
    stored(factories.language_model(), factories.language_model())
    assert tasks.snapshots_rebuild.name == "snapshots_rebuild"
    tasks.snapshots_rebuild()
    assert Snapshot.objects.count() == 1
