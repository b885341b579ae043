"""Evaluations for programs: runs, what they say, and what judges and people said of them."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Job, Scope, User
from common.api import FormatIsOurs, Pagination
from common.downloads import stream_download
from common.errors import NotAllowed
from evaluations import selectors, services
from evaluations.errors import EvaluationInvalid, ResultsNotReady
from evaluations.estimating import Estimate, estimate
from evaluations.exporting import run_zip
from evaluations.models import QuestionSet, Run, Summary
from evaluations.planning import plan_of
from evaluations.reading import serializers as shapes
from evaluations.reading.summaries import Reading, reading_of
from evaluations.reports import as_csv, as_markdown
from providers.models import LanguageModel


def _user(request: Request) -> User:
    return cast(User, request.user)


def _administrator(request: Request) -> User:
    """Only administrators spend the server's money on whole runs."""
    user = _user(request)
    if not user.is_staff:
        raise NotAllowed("Only administrators start and change runs.")
    return user


def _models(slugs: Collection[str], field: str) -> list[LanguageModel]:
    """In the order in which they were named. Raises EvaluationInvalid for a slug that nothing has."""
    found = {model.slug: model for model in LanguageModel.objects.filter(slug__in=slugs).select_related("endpoint")}
    if missing := [slug for slug in slugs if slug not in found]:
        message = f"There is no model {', '.join(missing)}. `GET models/` lists them."
        raise EvaluationInvalid(message, fields={field: [message]})
    return [found[slug] for slug in dict.fromkeys(slugs)]


def _state(run: Run, *, found: Estimate | None = None, job: Job | None = None, has_results: bool) -> dict[str, Any]:
    fields = ("name", "status", "mode", "options", "error", "created_at", "started_at", "finished_at")
    return {name: getattr(run, name) for name in fields} | {
        "id": str(run.pk),
        "question_set": run.question_set.slug,
        "models": sorted(model.slug for model in run.contenders.all()),
        "judges": sorted(model.slug for model in run.judges.all()),
        "baseline": run.baseline.slug if run.baseline else None,
        "estimate": asdict(found) if found else None,
        "progress": job and {"done": job.done, "total": job.total, "remaining_seconds": job.remaining_seconds},
        "has_results": has_results,
    }


def _answered(run: Run, *, found: Estimate | None = None, status: int = 200) -> Response:
    job = Job.objects.filter(pk=run.job_id).first() if run.job_id and run.is_busy else None
    state = _state(run, found=found, job=job, has_results=run.summaries.exists())
    return Response(shapes.EvaluationOut(state).data, status=status)


class RunsView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}
    pagination_class = Pagination

    @extend_schema(operation_id="evaluations_list", responses=shapes.EvaluationOut(many=True))
    def get(self, request: Request) -> Response:
        """Your runs, newest first; an administrator's are all."""
        paginator = Pagination()
        runs = selectors.runs_of(_user(request)).select_related("baseline").prefetch_related("contenders", "judges")
        runs = runs.annotate(has_results=Exists(Summary.objects.filter(run=OuterRef("pk"))))
        page = paginator.paginate_queryset(runs, request, view=self) or []
        rows = [_state(run, has_results=cast(Any, run).has_results) for run in page]
        return paginator.get_paginated_response(shapes.EvaluationOut(rows, many=True).data)

    @extend_schema(
        operation_id="evaluations_create",
        request=shapes.EvaluationIn,
        responses={200: shapes.EvaluationOut, 201: shapes.EvaluationOut},
    )
    def post(self, request: Request) -> Response:
        """Say what a run would take, and with `dry_run` no more than that; else store it and have a worker begin."""
        owner = _administrator(request)
        given = shapes.EvaluationIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        wanted = {
            "name": data["name"],
            "question_set": _question_set(data["question_set"]),
            "models": _models(data["models"], "models"),
            "judges": _models(data["judges"], "judges"),
            "mode": data["mode"],
            "baseline": _models([data["baseline"]], "baseline")[0] if data["baseline"] else None,
            "options": data.get("options"),
        }
        with transaction.atomic():
            run = services.run_create(owner=owner, **wanted)
            found = estimate(plan_of(run))
            if data["dry_run"]:
                state = _state(run, found=found, has_results=False) | {"id": None}
                transaction.set_rollback(True)
                return Response(shapes.EvaluationOut(state).data)
            services.run_start(run=run)
        return _answered(run, found=found, status=201)


def _question_set(slug: str) -> QuestionSet:
    found = QuestionSet.objects.filter(slug=slug).first()
    if found is None:
        message = f"There is no question set {slug}. `GET question-sets/` lists them."
        raise EvaluationInvalid(message, fields={"question_set": [message]})
    return found


class RunView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="evaluations_read", responses=shapes.EvaluationOut)
    def get(self, request: Request, run_id: str) -> Response:
        """How far it is."""
        return _answered(selectors.run_of(_user(request), run_id))


class RunActView(Idempotent, APIView):
    """What may be done with a run; `what` is set where it is routed."""

    required_scopes = Scope.RUN
    what = ""

    def post(self, request: Request, run_id: str) -> Response:
        _administrator(request)
        run = selectors.run_of(_user(request), run_id)
        with transaction.atomic():
            self.act(run, request)
        run.refresh_from_db()
        return _answered(run)

    def act(self, run: Run, request: Request) -> None:
        raise NotImplementedError


def _own(run: Run) -> Run:
    if run.status == Run.Status.IMPORTED:
        raise EvaluationInvalid("This run was imported. Its models are not asked here.")
    return run


class RunCancelView(RunActView):
    @extend_schema(operation_id="evaluations_cancel", request=None, responses=shapes.EvaluationOut)
    def post(self, request: Request, run_id: str) -> Response:
        """End it; what is answered and judged by then stays. `resume/` goes on."""
        return super().post(request, run_id)

    def act(self, run: Run, request: Request) -> None:
        services.run_cancel(run=run)


class RunResumeView(RunActView):
    @extend_schema(operation_id="evaluations_resume", request=None, responses=shapes.EvaluationOut)
    def post(self, request: Request, run_id: str) -> Response:
        """Have what is missing done."""
        return super().post(request, run_id)

    def act(self, run: Run, request: Request) -> None:
        services.run_start(run=_own(run))


class RunRetryView(RunActView):
    @extend_schema(operation_id="evaluations_retry", request=None, responses=shapes.EvaluationOut)
    def post(self, request: Request, run_id: str) -> Response:
        """Ask again what failed, and do what is missing."""
        return super().post(request, run_id)

    def act(self, run: Run, request: Request) -> None:
        services.run_clear_failed(run=_own(run))
        services.run_start(run=run)


class RunExtendView(RunActView):
    @extend_schema(operation_id="evaluations_extend", request=shapes.EvaluationExtendIn, responses=shapes.EvaluationOut)
    def post(self, request: Request, run_id: str) -> Response:
        """Add models or judges to a run that is over, or judge again by other references; and have that done."""
        return super().post(request, run_id)

    def act(self, run: Run, request: Request) -> None:
        given = shapes.EvaluationExtendIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        models, judges = (_models(data[name], name) for name in ("models", "judges"))
        services.run_extend(run=_own(run), models=models, judges=judges)
        if data["reference_version"]:
            services.run_rejudge(run=run, version=data["reference_version"])
        services.run_start(run=run)


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
        asked = shapes.ResultsIn(data=request.query_params)
        asked.is_valid(raise_exception=True)
        document = _reading(request, run_id, asked.validated_data["references"], "document").document
        match asked.validated_data["format"]:
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
        paginator = Pagination()
        page = paginator.paginate_queryset(rows, request, view=self) or []
        return paginator.get_paginated_response(shapes.AnswerOut(page, many=True).data)


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
        paginator = Pagination()
        page = paginator.paginate_queryset(found, request, view=self) or []
        return paginator.get_paginated_response(shapes.JudgmentOut(page, many=True).data)


def _filters(request: Request, model: str) -> dict[str, Any]:
    asked = shapes.AnswersIn(data=request.query_params)
    asked.is_valid(raise_exception=True)
    names = {"question": "question__number", "category": "question__category", "turn": "turn", "model": model}
    return {names[name]: value for name, value in asked.validated_data.items()}


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
        asked = shapes.CompareIn(data=request.query_params)
        asked.is_valid(raise_exception=True)
        data = dict(asked.validated_data)
        first, second = (selectors.run_of(_user(request), data.pop(name)) for name in ("first", "second"))
        pair = services.run_pair_get(first=first, second=second, **data)
        if pair.computed_at is None:
            waiting: dict[str, Any] = {"state": "computing", "tests": None, "differences": [], "changes": []}
            return Response(shapes.CompareOut(waiting).data, status=202, headers={"Retry-After": "2"})
        return Response(shapes.CompareOut({"state": "done", **pair.document}).data)
