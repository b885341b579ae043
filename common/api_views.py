"""What API views do alike. Apart from common/api.py, which the REST framework reads before it has views."""

from collections.abc import Callable
from typing import Any

from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from common.api import Pagination


def checked(shape: type[BaseSerializer[Any]], data: Any) -> dict[str, Any]:
    """What a client sent, in the shape's types. Raises ValidationError, which names what is wrong by field."""
    given = shape(data=data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def page_of(
    view: APIView, rows: Any, shape: type[BaseSerializer[Any]], *, shown: Callable[[list[Any]], Any] = list
) -> Response:
    """The page of `rows` that the view was asked for. `shown` makes of its rows what the shape takes."""
    paginator = Pagination()
    page: list[Any] = paginator.paginate_queryset(rows, view.request, view=view) or []
    return paginator.get_paginated_response(shape(shown(page), many=True).data)
