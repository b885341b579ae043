"""Reads of people, keys and jobs."""

import hashlib
import secrets
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from accounts.errors import JobNotFound
from accounts.key_usage import requests_of
from accounts.models import ApiKey, Job, User

KEY_START = "tny"


def digest_of(secret: str) -> str:
    """SHA-256 in hexadecimal. A plain hash is enough, since the secret is 256 random bits and not a password."""
    return hashlib.sha256(secret.encode()).hexdigest()


def apikey_find(key: str) -> ApiKey | None:
    """The usable key that was shown as `tny_<prefix>_<secret>`, with its user; None for any other text."""
    start, _, rest = key.partition("_")
    prefix, _, secret = rest.partition("_")
    # Only ASCII can match, and PostgreSQL refuses NUL.
    if start != KEY_START or not prefix.isalnum() or not prefix.isascii() or not secret.isascii():
        return None
    found = ApiKey.objects.usable().select_related("user").filter(prefix=prefix).first()
    if found is None or not secrets.compare_digest(found.digest, digest_of(secret)):
        return None
    return found


@dataclass(frozen=True, slots=True)
class KeyShown:
    """A key with what it has sent: requests of today, and of the last 30 days."""

    key: ApiKey
    today: int
    month: int


def apikeys_of(user: User) -> list[KeyShown]:
    """A person's keys that still work, newest first."""
    keys = list(ApiKey.objects.usable().filter(user=user))
    requests = requests_of(keys)
    return [KeyShown(key, *requests[key.pk]) for key in keys]


def jobs_of(user: User) -> QuerySet[Job]:
    """A person's jobs, newest first."""
    return Job.objects.filter(owner=user).order_by("-created_at")


def job_of(user: User, job_id: UUID | str) -> Job:
    """One of the person's own jobs. Raises JobNotFound for any other."""
    job = Job.objects.filter(owner=user, pk=job_id).first()
    if job is None:
        raise JobNotFound()
    return job


def job_with_file(user: User, job_id: UUID | str) -> Job:
    """One of the person's own jobs that has made a file: `result["file"]` is its name. Raises JobNotFound."""
    job = job_of(user, job_id)
    if job.state != Job.State.DONE or not job.file or not job.result.get("file"):
        raise JobNotFound("This job has made no file.")
    return job
