"""Question sets and people's votes for programs."""

from collections import defaultdict
from typing import Any, cast
from uuid import UUID

from django.db.models import Count
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import Pagination
from common.api_views import checked, page_of
from evaluations import selectors, services
from evaluations.models import Question, QuestionSet
from evaluations.reading import serializers as shapes
from evaluations.reading.votes import FILE_MAX_BYTES


def _described(sets: list[Any]) -> list[dict[str, Any]]:
    """Question sets with what is in them; one query for all of them."""
    categories: dict[int, list[str]] = defaultdict(list)
    rows = Question.objects.filter(question_set__in=[one.pk for one in sets]).order_by("category")
    for pk, category in rows.values_list("question_set_id", "category").distinct():
        categories[pk].append(category)
    return [
        {
            "slug": one.slug,
            "name": one.name,
            "description": one.description,
            "licence": one.licence,
            "source": one.source,
            "questions": one.questions_count,
            "categories": categories[one.pk],
        }
        for one in sets
    ]


class QuestionSetsView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.ADMIN}
    pagination_class = Pagination

    @extend_schema(operation_id="question_sets_list", responses=shapes.QuestionSetOut(many=True))
    def get(self, request: Request) -> Response:
        """What models may be asked."""
        sets = QuestionSet.objects.annotate(questions_count=Count("questions")).order_by("name", "pk")
        return page_of(self, sets, shapes.QuestionSetOut, shown=_described)

    @extend_schema(
        operation_id="question_sets_create", request=shapes.QuestionSetIn, responses={201: shapes.QuestionsOut}
    )
    def post(self, request: Request) -> Response:
        """Make a set or add to it, in FastChat's shape; all of it or nothing. A reference that differs from those that
        are there becomes a new version."""
        report = services.question_set_store(**checked(shapes.QuestionSetIn, request.data))
        names = ("added", "changed", "same", "references", "doubted")
        made = {name: getattr(report, name) for name in names} | {"slug": report.question_set.slug}
        return Response(shapes.QuestionsOut(made).data, status=201)


class QuestionSetView(APIView):
    required_scopes = Scope.READ
    pagination_class = Pagination

    @extend_schema(operation_id="question_sets_read", responses=shapes.QuestionOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The questions of a set, with their references in all versions."""
        rows = get_object_or_404(QuestionSet, slug=slug).questions.prefetch_related("references")
        return page_of(self, rows, shapes.QuestionOut)


class VoteSetsView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.ADMIN}
    parser_classes = [MultiPartParser]
    pagination_class = Pagination

    @extend_schema(operation_id="evaluations_votes_list", responses=shapes.VoteSetOut(many=True))
    def get(self, request: Request) -> Response:
        """Files of people's votes, each with how far judges agree with it."""
        return page_of(self, selectors.vote_sets_of(cast(User, request.user)), shapes.VoteSetOut)

    @extend_schema(
        operation_id="evaluations_votes_create",
        request={"multipart/form-data": shapes.VotesIn},
        responses={201: shapes.VoteSetOut},
    )
    def post(self, request: Request) -> Response:
        """Import people's votes on pairs of answers, and hold them against judges."""
        data, owner = checked(shapes.VotesIn, request.data), cast(User, request.user)
        run = selectors.run_of(owner, data["run"]) if data["run"] else None
        file = data["file"]
        made = services.votes_import(
            owner=owner, name=data["name"], data=file.read(FILE_MAX_BYTES + 1), file_name=file.name, run=run
        )
        return Response(shapes.VoteSetOut(made).data, status=201)


class VoteSetView(APIView):
    required_scopes = {"GET": Scope.READ, "DELETE": Scope.RUN}

    @extend_schema(operation_id="evaluations_votes_read", responses=shapes.VoteSetOut)
    def get(self, request: Request, vote_set_id: UUID) -> Response:
        """How far each judge agrees with the people: over all, by turn and by category."""
        found = get_object_or_404(selectors.vote_sets_of(cast(User, request.user)), pk=vote_set_id)
        return Response(shapes.VoteSetOut(found).data)

    @extend_schema(operation_id="evaluations_votes_delete", responses={204: None})
    def delete(self, request: Request, vote_set_id: UUID) -> Response:
        """Forget the votes of a file of yours, and what was made of them."""
        found = get_object_or_404(selectors.vote_sets_of(cast(User, request.user)), pk=vote_set_id)
        services.vote_set_delete(vote_set=found)
        return Response(status=204)
