"""A repeated request is answered like the first one, and the work is done once."""

import itertools
import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate

from accounts.idempotency import GIVEN_UP_AFTER, Idempotent
from accounts.models import IdempotentRequest, Scope, User
from common.errors import Conflict, NotFound, TooMany
from tests import factories

pytestmark = pytest.mark.django_db


class CountingView(Idempotent):
    required_scopes = Scope.RUN
    numbers = itertools.count(1)

    def post(self, request: Request) -> Response | StreamingHttpResponse:
        number = next(self.numbers)
        match request.data.get("do"):
            case "stream":
                return StreamingHttpResponse([b"data"])
            case "refuse":
                raise NotFound(f"refusal {number}")
            case "wait":
                raise TooMany()
            case "conflict":
                raise Conflict()
            case "break":
                raise RuntimeError("a defect")
            case "nothing":
                return Response(status=204)
        return Response({"number": number}, status=201)

    get = post


view = CountingView.as_view()


@pytest.fixture
def person() -> User:
    return factories.user()


def post(person: User, key: str = "k", *, path: str = "/", do: str = "", method: str = "post") -> Any:
    request = getattr(APIRequestFactory(), method)(path, {"do": do}, format="json", HTTP_IDEMPOTENCY_KEY=key)
    force_authenticate(request, user=person)
    return view(request).render() if do != "stream" else view(request)


def test_the_same_key_gives_the_same_answer_and_one_row(person: User) -> None:
    first, second = post(person), post(person)
    assert (first.status_code, first.content) == (second.status_code, second.content) == (201, first.content)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert IdempotentRequest.objects.count() == 1


def test_other_keys_and_other_people_are_other_requests(person: User) -> None:
    answers = [post(person), post(person, "k2"), post(factories.user()), post(person, ""), post(person, "")]
    assert len({answer.content for answer in answers}) == 5


def test_an_answer_without_a_body_is_repeated_too(person: User) -> None:
    assert [post(person, do="nothing").status_code for _ in range(2)] == [204, 204]
    assert IdempotentRequest.objects.get().status == 204


@pytest.mark.parametrize("other", [{"do": "nothing"}, {"path": "/other"}])
def test_the_same_key_for_another_request_is_a_conflict(person: User, other: dict[str, str]) -> None:
    post(person)
    answer = post(person, **other)
    assert answer.status_code == 409
    assert answer.data["error"]["code"] == "idempotency_key_reused"


def test_while_the_first_is_under_way_the_second_is_told_to_wait(person: User) -> None:
    post(person)
    IdempotentRequest.objects.update(status=None)
    assert post(person).data["error"]["code"] == "idempotency_in_progress"


def test_a_first_request_that_died_with_its_process_does_not_block_the_key_for_ever(person: User) -> None:
    post(person)
    IdempotentRequest.objects.update(status=None)
    with time_machine.travel(timezone.now() + timedelta(seconds=61)):
        assert post(person).status_code == 201


@pytest.mark.parametrize("do", ["", "stream", "wait", "break"])
def test_a_first_request_says_that_it_lives_until_it_is_answered(
    person: User, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hearts: list[Any] = []

    class Heart:
        def __init__(self, beat: Any, seconds: float) -> None:
            self.beat, self.said = beat, []
            assert 3 * seconds < GIVEN_UP_AFTER.total_seconds()
            hearts.append(self)

        def start(self) -> None:
            IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(seconds=61))
            self.beat()
            self.said.append((IdempotentRequest.objects.get().created_at - timezone.now()).total_seconds() > -5)

        def stop(self) -> None:
            self.said.append("stopped")

    monkeypatch.setattr("accounts.idempotency.Heart", Heart)
    with suppress(RuntimeError):
        post(person, do=do)
    assert [heart.said for heart in hearts] == [[True, "stopped"]]


def test_a_final_refusal_is_repeated(person: User) -> None:
    first, second = post(person, do="refuse"), post(person, do="refuse")
    assert (first.status_code, json.loads(first.content)) == (second.status_code, json.loads(second.content))
    assert first.status_code == 404


@pytest.mark.parametrize("do", ["wait", "conflict"])
def test_a_refusal_that_may_pass_is_forgotten(person: User, do: str) -> None:
    post(person, do=do)
    assert not IdempotentRequest.objects.exists()


def test_a_defect_is_forgotten(person: User) -> None:
    with pytest.raises(RuntimeError):
        post(person, do="break")
    assert not IdempotentRequest.objects.exists()


def test_a_stream_is_not_done_twice_and_its_repetition_is_told_so(person: User) -> None:
    assert post(person, do="stream").streaming
    again = post(person, do="stream")
    assert (again.status_code, again.data["error"]["code"]) == (409, "conflict")


def test_answers_are_kept_for_a_day(person: User) -> None:
    first = post(person)
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        assert post(person).content != first.content
    assert IdempotentRequest.objects.count() == 1


def test_a_get_takes_no_notice_of_the_key(person: User) -> None:
    assert CountingView().required_scopes
    request = APIRequestFactory().get("/", HTTP_IDEMPOTENCY_KEY="k")
    force_authenticate(request, user=person)
    view(request)
    assert not IdempotentRequest.objects.exists()


def test_a_key_that_is_too_long_is_refused(person: User) -> None:
    assert post(person, "x" * 201).status_code == 400
    assert not IdempotentRequest.objects.exists()
