"""How the API describes itself: each operation also names the errors that every one of them may answer."""

from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS, AllowAny

Problem = inline_serializer(
    "Error",
    {
        "error": inline_serializer(
            "ErrorDetail",
            {
                "code": serializers.CharField(help_text="Stable and machine-readable."),
                "message": serializers.CharField(help_text="What happened and what to do about it."),
                "fields": serializers.DictField(
                    child=serializers.ListField(child=serializers.CharField()),
                    help_text="Messages by the field that they are about.",
                ),
            },
        )
    },
)

BAD_REQUEST = {"400": "The request is not valid."}
ANY = {
    "404": "There is nothing here, or it is not yours.",
    "406": "None of the accepted formats can be given.",
}
CLOSED = {
    "401": "No key, a wrong key, or no session.",
    "403": "The key lacks the scope, or the CSRF token is missing.",
    "429": "Too many requests; `Retry-After` says how many seconds to wait.",
}
WRITING = {
    "409": "This was done already, or is not possible now.",
    "413": "The request is too large.",
    "415": "The body is of a type that is not taken here: nearly everywhere it must be JSON.",
}


HEADERS = {
    "401": {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "`Bearer`."}},
    "429": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}},
}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": 200},
    OpenApiParameter.HEADER,
    description="A text of your own for this request: sent again, it is answered like the first time and done once.",
)


class Schema(AutoSchema):
    """drf-spectacular's description, with what all operations share: our one error shape, and the idempotency key of
    those views that set `is_idempotent`."""

    def get_override_parameters(self) -> list[Any]:
        parameters = list(super().get_override_parameters())
        if self.method == "POST" and getattr(self.view, "is_idempotent", False):
            parameters.append(IDEMPOTENCY_KEY)
        return parameters

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> Any:
        answers = super()._get_response_bodies(direction)
        if direction != "response":
            return answers
        for status, description in self._errors().items():
            if status not in answers:
                body: dict[str, Any] = self._get_response_for_code(  # type: ignore[no-untyped-call]
                    Problem, status, ["application/json"], direction
                )
                headers = {"headers": HEADERS[status]} if status in HEADERS else {}
                answers[status] = headers | body | {"description": description}
        return dict(sorted(answers.items()))

    def _errors(self) -> dict[str, str]:
        errors = BAD_REQUEST | ANY
        if not any(isinstance(permission, AllowAny) for permission in self.view.get_permissions()):
            errors |= CLOSED
        if self.method not in SAFE_METHODS:
            errors |= WRITING
        return errors
