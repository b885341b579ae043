"""A repeated request is answered like the first one: `Idempotency-Key` on a POST that makes something."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.errors import KeyReused, StillUnderWay
from accounts.models import IdempotentRequest, User
from common.api import error_body
from common.clock import lapsed
from common.errors import TourneyError
from common.heart import Heart

ANSWERS_KEPT = timedelta(hours=24)
# A first request says that its process lives as long as it is worked at. One that has not said so for this long is
# taken for dead, and the key may try again.
BEAT_SECONDS = 10.0
GIVEN_UP_AFTER = timedelta(minutes=1)
KEY_LENGTH = 200
# These may turn out otherwise on the next try, and changed nothing: they are not kept.
PASSING = frozenset({401, 403, 408, 409, 425, 429})


class _Replay(Exception):
    """Leads from `initial` to the answer that is already known."""

    def __init__(self, response: Response) -> None:
        self.response = response


class Idempotent(APIView):
    """A view whose POSTs may carry an `Idempotency-Key`; put it before the other bases.

    Same key and same request: the same answer with `Idempotent-Replayed: true`, and the work is done once. Same key
    and another request: 409. First request still under way: 409. Success and final refusals are kept for a day;
    errors of ours and refusals that may pass are forgotten, so that the key can try again. An answer that was
    streamed cannot be given again: its repetition is told so with a 409, and nothing is done twice.
    """

    is_idempotent = True
    _first: IdempotentRequest | None = None
    _heart: Heart | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        key = request.headers.get("Idempotency-Key", "").strip()
        if request.method == "POST" and key and isinstance(request.user, User):
            self._first = _begin(request.user, key, _fingerprint(request))
            claimed = IdempotentRequest.objects.filter(pk=self._first.pk)
            self._heart = Heart(lambda: claimed.update(created_at=timezone.now()), seconds=BEAT_SECONDS)
            self._heart.start()

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, _Replay):
            return exc.response
        try:
            return super().handle_exception(exc)
        except Exception:
            self._rest()
            self._forget()
            raise

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        self._rest()
        answer = super().finalize_response(request, response, *args, **kwargs)
        if self._first is not None:
            if response.streaming:
                self._keep(409, error_body("conflict", "This was answered as a stream, which cannot be repeated."))
            elif response.status_code >= 500 or response.status_code in PASSING:
                self._forget()
            else:
                self._keep(
                    response.status_code, json.loads(JSONRenderer().render(getattr(response, "data", None)) or "null")
                )
        return answer

    def _rest(self) -> None:
        if self._heart is not None:
            self._heart.stop()

    def _keep(self, status: int, body: Any) -> None:
        if self._first is not None:
            IdempotentRequest.objects.filter(pk=self._first.pk).update(status=status, body=body)

    def _forget(self) -> None:
        if self._first is not None:
            IdempotentRequest.objects.filter(pk=self._first.pk).delete()


def _fingerprint(request: Request) -> str:
    said = hashlib.sha256()
    kind, _, rest = (request.content_type or "").partition(";")
    is_form = kind.strip().lower() == "multipart/form-data"
    # Each sending of a form has another boundary, in its type and in its body.
    for part in (request.method, request.get_full_path(), kind if is_form else f"{kind};{rest}"):
        said.update(str(part).encode() + b"\0")
    if is_form:
        return _with_form(said, request)
    # Django's own request keeps the body for DRF's parser, and refuses one that is too large.
    said.update(request._request.body)
    return said.hexdigest()


def _with_form(said: "hashlib._Hash", request: Request) -> str:
    """The same for the same fields and files, however they were packed. Files may be larger than memory."""
    for name, texts in sorted(request.POST.lists()):
        said.update(repr((name, texts)).encode(errors="surrogatepass") + b"\0")
    for name, files in sorted(request.FILES.lists()):
        for file in files:
            said.update(repr((name, file.size)).encode(errors="surrogatepass") + b"\0")
            for piece in file.chunks():
                said.update(piece)
            file.seek(0)
    return said.hexdigest()


def _begin(user: User, key: str, fingerprint: str) -> IdempotentRequest:
    """Claim the key, or raise: _Replay with the known answer, KeyReused, StillUnderWay."""
    if len(key) > KEY_LENGTH or not key.isprintable():
        raise TourneyError(f"An Idempotency-Key is at most {KEY_LENGTH} printable characters.")
    now = timezone.now()
    requests = IdempotentRequest.objects.filter(user=user)
    requests.filter(created_at__lt=now - ANSWERS_KEPT).delete()
    requests.filter(lapsed("created_at", now - GIVEN_UP_AFTER), key=key, status__isnull=True).delete()
    try:
        with transaction.atomic():
            return IdempotentRequest.objects.create(user=user, key=key, fingerprint=fingerprint)
    except IntegrityError:
        first = requests.filter(key=key).first()
    if first is None or (first.fingerprint == fingerprint and first.status is None):
        raise StillUnderWay()
    if first.fingerprint != fingerprint:
        raise KeyReused()
    raise _Replay(Response(first.body, status=first.status, headers={"Idempotent-Replayed": "true"}))
