"""Proof of work: a browser finds a number that takes it a moment, before it may sign up or vote. It makes bulk dear and
costs a person nothing that they notice. Made and checked by altcha, on this server alone."""

import json
from base64 import b64decode
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import get_random_string, salted_hmac

from accounts.errors import ProofInvalid, ProofMissing

SIGN_UP = "signup"
VOTE = "vote"
PURPOSES = (SIGN_UP, VOTE)
LIVES_FOR = timedelta(minutes=10)
# Plain SHA-256, once: pages over HTTP have no Web Crypto, and this much can be written in a page's script.
ALGORITHM = "SHA-256"
ROUNDS = 1
PROOF_MAX_CHARACTERS = 4_000


def is_asked(purpose: str) -> bool:
    """Whether this server wants a proof for that."""
    return purpose in settings.PROOF_OF_WORK


def proof_address(purpose: str) -> str:
    """Where a page gets its task; empty where no proof is wanted."""
    return reverse("accounts:proof", args=[purpose]) if is_asked(purpose) else ""


def task_make(*, purpose: str, who: str) -> dict[str, Any]:
    """A task for one purpose and one person (empty for a stranger), good once and for LIVES_FOR.

    The number lies between half of PROOF_OF_WORK_STEPS and all of it, and is found by trying from 0.
    """
    import altcha  # not needed where no proof is wanted

    half = settings.PROOF_OF_WORK_STEPS // 2
    task = altcha.create_challenge(
        ALGORITHM,
        ROUNDS,
        counter=half + int(get_random_string(9, "0123456789")) % (half + 1),
        expires_at=timezone.now() + LIVES_FOR,
        data={"for": purpose, "who": who},
        hmac_secret=_secret(),
    )
    found: dict[str, Any] = task.to_dict()
    return found


def proof_check(*, purpose: str, who: str, proof: str) -> None:
    """Accept a proof once. Raises ProofMissing, or ProofInvalid for one that is wrong, old, used or another's."""
    import altcha

    if not proof:
        raise ProofMissing
    if len(proof) > PROOF_MAX_CHARACTERS or not altcha.verify_solution(proof, _secret()).verified:
        raise ProofInvalid
    task = json.loads(b64decode(proof))["challenge"]
    if task["parameters"].get("data") != {"for": purpose, "who": who}:
        raise ProofInvalid
    if not cache.add(f"proof:{task['signature']}", 1, timeout=LIVES_FOR.total_seconds()):
        raise ProofInvalid


def _secret() -> bytes:
    return salted_hmac("accounts.proofs", "task", algorithm="sha256").digest()
