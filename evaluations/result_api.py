"""What came of runs, for programs: results, judges' agreement, answers and judgments, files, and two runs compared."""

from typing import Any, cast

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from common.api import FormatIsOurs, Pagination
from common.api_views import checked, page_of
from common.downloads import stream_download
from evaluations import selectors, services
from evaluations.errors import ResultsNotReady
from evaluations.fastchat.exporting import run_zip
from evaluations.reading import serializers as shapes
from evaluations.reading.summaries import Reading, reading_of
from evaluations.reports.tables import as_csv, as_markdown


def _user(request: Request) -> User:
    return cast(User, request.user)


def _reading(request: Request, run_id: str, references: int = 0, *parts: str) -> Reading:
    run = selectors.run_of(_user(request), run_id)
    reading = reading_of(run, references, parts=parts)
    if reading is None:
        if not selectors.is_under_way(run):
            services.summary_want(run)
        raise ResultsNotReady
    return reading


class ResultsView(APIView):
    required_scopes = Scope.READ
    content_negotiation_class = FormatIsOurs

    @extend_schema(
        operation_id="evaluations_results",
        parameters=[shapes.ResultsIn],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "text/markdown"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, run_id: str) -> HttpResponse | Response:
        """Scores, games, ratings and judges as they were when the run ended. While it is under way for the first time,
        409."""
        asked = checked(shapes.ResultsIn, request.query_params)
        document = _reading(request, run_id, asked["references"], "document").document
        match asked["format"]:
            case "csv":
                return HttpResponse("".join(as_csv(document)), content_type="text/csv; charset=utf-8")
            case "md":
                return HttpResponse(as_markdown(document), content_type="text/markdown; charset=utf-8")
        return Response(document)


class RunAgreementView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="evaluations_agreement", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, run_id: str) -> Response:
        """How the judges agree with each other and what they lean towards: over all (the empty key), by category and
        by turn."""
        return Response(_reading(request, run_id, 0, "agreement").summary.agreement)


class RunExportView(APIView):
    required_scopes = Scope.EXPORT

    @extend_schema(operation_id="evaluations_export", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, run_id: str) -> StreamingHttpResponse:
        """The run as a ZIP in FastChat's layout, packed while it leaves."""
        run = selectors.run_of(_user(request), run_id)
        return stream_download(run_zip(run), name=f"{run.name}.zip", media_type="application/zip")


class RunAnswersView(APIView):
    required_scopes = Scope.READ
    pagination_class = Pagination

    @extend_schema(
        operation_id="evaluations_answers", parameters=[shapes.AnswersIn], responses=shapes.AnswerOut(many=True)
    )
    def get(self, request: Request, run_id: str) -> Response:
        """What the models answered."""
        rows = selectors.run_of(_user(request), run_id).answers.select_related("question", "model")
        rows = rows.filter(**_filters(request, "model__slug")).order_by(
            "question__number", "model__slug", "choice", "turn"
        )
        return page_of(self, rows, shapes.AnswerOut)


class RunJudgmentsView(APIView):
    required_scopes = Scope.READ
    pagination_class = Pagination

    @extend_schema(
        operation_id="evaluations_judgments", parameters=[shapes.AnswersIn], responses=shapes.JudgmentOut(many=True)
    )
    def get(self, request: Request, run_id: str) -> Response:
        """What the judges said, by every version of the references."""
        rows = selectors.run_of(_user(request), run_id).judgments
        found = rows.select_related("question", "judge", "model_a", "model_b")
        found = found.filter(**_filters(request, "model_a__slug")).order_by("question__number", "turn", "pk")
        return page_of(self, found, shapes.JudgmentOut)


def _filters(request: Request, model: str) -> dict[str, Any]:
    asked = checked(shapes.AnswersIn, request.query_params)
    names = {"question": "question__number", "category": "question__category", "turn": "turn", "model": model}
    return {names[name]: value for name, value in asked.items()}


class CompareView(APIView):
    required_scopes = Scope.READ

    @extend_schema(
        operation_id="evaluations_compare",
        parameters=[shapes.CompareIn],
        responses={200: shapes.CompareOut, 202: shapes.CompareOut},
    )
    def get(self, request: Request) -> Response:
        """How the second run differs from the first: paired differences with intervals and tests, and the questions
        that changed most. 202 while a worker computes it."""
        data = checked(shapes.CompareIn, request.query_params)
        first, second = (selectors.run_of(_user(request), data.pop(name)) for name in ("first", "second"))
        pair = services.run_pair_get(first=first, second=second, **data)
        if pair.computed_at is None:
            waiting: dict[str, Any] = {"state": "computing", "tests": None, "differences": [], "changes": []}
            return Response(shapes.CompareOut(waiting).data, status=202, headers={"Retry-After": "2"})
        return Response(shapes.CompareOut({"state": "done", **pair.document}).data)
