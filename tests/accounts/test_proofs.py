"""Proof of work at sign-up and vote: accepted once, and refused where it is wrong, old, used, or for something else."""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import altcha
import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import proofs
from accounts.errors import ProofInvalid, ProofMissing
from accounts.models import User
from battles.models import Preference
from tests import factories

pytestmark = pytest.mark.django_db

SIGN_UP = {"username": "ada", "password1": factories.PASSWORD, "password2": factories.PASSWORD}


@pytest.fixture(autouse=True)
def _asked(settings: Any) -> None:
    settings.PROOF_OF_WORK = ["signup", "vote"]
    settings.PROOF_OF_WORK_STEPS = 200


def solved(task: dict[str, Any]) -> str:
    """What a browser sends."""
    solution = altcha.solve_challenge(altcha.Challenge.from_dict(task))
    return b64encode(json.dumps({"challenge": task, "solution": solution.to_dict()}).encode()).decode()


def proof(purpose: str = "vote", who: str = "1") -> str:
    return solved(proofs.task_make(purpose=purpose, who=who))


def check(text: str, purpose: str = "vote", who: str = "1") -> None:
    proofs.proof_check(purpose=purpose, who=who, proof=text)


def test_a_proof_is_good_once() -> None:
    given = proof()
    check(given)
    with pytest.raises(ProofInvalid):
        check(given)


@pytest.mark.parametrize("wrong", [{"purpose": "signup"}, {"who": "2"}])
def test_a_proof_is_for_one_purpose_and_one_person(wrong: dict[str, str]) -> None:
    with pytest.raises(ProofInvalid):
        check(proof(), **wrong)


def test_an_old_proof_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = timezone.now() - proofs.LIVES_FOR * 1.1
    with monkeypatch.context() as patch:
        patch.setattr("accounts.proofs.timezone.now", lambda: before)
        given = proof()
    with pytest.raises(ProofInvalid):
        check(given)


def test_a_task_that_was_made_easier_is_refused() -> None:
    task = proofs.task_make(purpose="vote", who="1")
    task["parameters"]["keyPrefix"] = "00"
    with pytest.raises(ProofInvalid):
        check(solved(task))


@pytest.mark.parametrize("text", ["x", "e30=", "ü" * 10, "eyJjaGFsbGVuZ2UiOiAxfQ==", "A" * 5000])
def test_rubbish_is_refused(text: str) -> None:
    with pytest.raises(ProofInvalid):
        check(text)


def test_nothing_is_refused_with_other_words() -> None:
    with pytest.raises(ProofMissing):
        check("")


def test_nobody_signs_up_without_one(client: Client) -> None:
    page = client.post("/account/signup/", SIGN_UP)
    assert "moment of your browser" in page.content.decode()
    assert not User.objects.exists()
    task = client.get("/account/proof/signup/").json()
    assert client.post("/account/signup/", SIGN_UP | {"proof": solved(task)}).status_code == 302
    assert User.objects.get().username == "ada"


def test_a_slip_of_the_pen_does_not_use_the_proof_up(client: Client) -> None:
    given = {"proof": solved(client.get("/account/proof/signup/").json())}
    page = client.post("/account/signup/", SIGN_UP | given | {"password2": "another"})
    assert given["proof"] not in page.content.decode()
    assert client.post("/account/signup/", SIGN_UP | given).status_code == 302


def test_a_browser_votes_with_one_and_a_program_without(api_client: Callable[..., APIClient]) -> None:
    person = factories.user()
    page = APIClient()
    page.force_login(person)
    address = f"/api/v1/battles/{factories.battle(person).pk}/preference/"
    refused = page.post(address, {"choice": "a"}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "proof_missing")
    assert not Preference.objects.exists()
    side_door = page.post("/api/v1/arena/preference", {"id": address.split("/")[4], "winner": "x"}, format="json")
    assert side_door.json()["error"]["code"] == "proof_missing"
    task = page.get("/account/proof/vote/").json()
    assert page.post(address, {"choice": "a", "proof": solved(task)}, format="json").status_code == 201
    program = api_client(person, scopes=("read", "vote"))
    address = f"/api/v1/battles/{factories.battle(person).pk}/preference/"
    assert program.post(address, {"choice": "a"}, format="json").status_code == 201


def test_tasks_are_handed_out_where_they_are_wanted_and_not_without_end(client: Client, settings: Any) -> None:
    assert client.get("/account/proof/vote/").status_code == 404  # a stranger cannot vote
    assert {client.get("/account/proof/signup/").status_code for _ in range(250)} == {200, 429}
    settings.PROOF_OF_WORK = []
    assert client.get("/account/proof/signup/").status_code == 404
    assert client.post("/account/signup/", SIGN_UP).status_code == 302
