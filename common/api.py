"""What every API view shares: one shape for all errors, pages of lists, and a JSON parser that refuses politely."""

import math
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions, parsers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from common.errors import NotAllowed, NotFound, TooMany, TourneyError

API_PREFIX = "/api/"

# DRF's own words where they say what to do; ours where they do not.
_MESSAGES: dict[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.NotAuthenticated: (
        "not_authenticated",
        "Log in, or send a key: `Authorization: Bearer KEY` or `X-API-Key: KEY`. Keys are made on the account page.",
    ),
    exceptions.AuthenticationFailed: ("not_authenticated", ""),
    exceptions.PermissionDenied: (NotAllowed.code, ""),
    exceptions.NotFound: (NotFound.code, ""),
    exceptions.MethodNotAllowed: ("method_not_allowed", ""),
    exceptions.NotAcceptable: ("not_acceptable", "This address cannot answer in any of the formats you accept."),
    exceptions.UnsupportedMediaType: ("unsupported_media_type", ""),
    exceptions.Throttled: (TooMany.code, TooMany.message),
    exceptions.ParseError: ("malformed", ""),
}


def is_api(request: HttpRequest) -> bool:
    """Whether the answer must be JSON in the shape of API errors."""
    return request.path.startswith(API_PREFIX)


def error_body(code: str, message: str, fields: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """The one shape of all errors: a stable code, a sentence for people, and messages by field."""
    return {"error": {"code": code, "message": message, "fields": dict(fields or {})}}


def error_response(code: str, message: str, *, status: int) -> JsonResponse:
    """An error in the API's shape from outside of DRF, such as an unknown address."""
    return JsonResponse(error_body(code, message), status=status)


class TooLarge(TourneyError):
    code = "too_large"
    status = 413
    message = "The request is larger than this server accepts. Send less at once."


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Turn every expected exception into an answer of the one shape; None leaves a defect to Django, as a 500."""
    headers: dict[str, str] = {}
    match exc:
        case Http404():
            exc = NotFound()
        case PermissionDenied():
            exc = NotAllowed(str(exc))
        case RequestDataTooBig():
            exc = TooLarge()
        case SuspiciousOperation():
            exc = TourneyError("The request is malformed.")
    if isinstance(exc, TourneyError):
        if isinstance(exc, TooMany):
            headers["Retry-After"] = str(max(1, math.ceil(exc.retry_after)))
        body, status = error_body(exc.code, str(exc), exc.fields), exc.status
    elif isinstance(exc, exceptions.ValidationError):
        fields = _fields(exc.detail)
        body, status = error_body("invalid", _summary(fields), fields), exc.status_code
    elif isinstance(exc, exceptions.APIException):
        code, message = next((said for kind, said in _MESSAGES.items() if isinstance(exc, kind)), ("error", ""))
        body, status = error_body(code, message or str(exc.detail)), exc.status_code
        if header := getattr(exc, "auth_header", None):
            headers["WWW-Authenticate"] = header
        if (wait := getattr(exc, "wait", None)) is not None:
            headers["Retry-After"] = str(max(1, math.ceil(wait)))
    else:
        return None
    return Response(body, status=status, headers=headers)


def _fields(detail: Any, path: str = "") -> dict[str, list[str]]:
    """Flatten DRF's nested detail to messages by field; `sides.0.model` names an item within a list."""
    if isinstance(detail, Mapping):
        found: dict[str, list[str]] = {}
        for name, inner in detail.items():
            name = "" if name == "non_field_errors" else str(name)
            found.update(_fields(inner, ".".join(filter(None, (path, name)))))
        return found
    if isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        return _fields({str(position): item for position, item in enumerate(detail) if item}, path)
    messages = detail if isinstance(detail, list) else [detail]
    return {path: [str(message) for message in messages]}


def _summary(fields: Mapping[str, list[str]]) -> str:
    """One sentence that is useful without looking into the fields."""
    parts = [f"{name}: {messages[0]}" if name else messages[0] for name, messages in fields.items() if messages]
    return " ".join(parts) or "The request is not valid."


class Pagination(PageNumberPagination):
    """`?page=` from 1, `?page_size=` up to 200; answers count, next, previous and results."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


class JSONParser(parsers.JSONParser):
    """DRF's parser reads a body of any size and fails on one that is nested too deeply; this one refuses both."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        request = (parser_context or {}).get("request")
        largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if request is not None and largest is not None:
            length = request.META.get("CONTENT_LENGTH") or "0"
            if not length.isdigit() or int(length) > largest:
                raise TooLarge()
        try:
            return super().parse(stream, media_type, dict(parser_context or {}))
        except RecursionError as error:
            raise exceptions.ParseError("The JSON is nested too deeply.") from error


class FormatIsOurs(BaseContentNegotiation):
    """`?format=` names a file format here, not one of DRF's renderers."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return next((p for p in parsers if (request.content_type or "").startswith(p.media_type)), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
