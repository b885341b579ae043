"""Judges of conversations, for programs."""

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import Pagination
from common.api_views import checked, page_of
from evaluations.models import TalkJudgment
from evaluations.talks.results import judging_results, judgments_of
from evaluations.talks.running import MODES, RUBRIC_MAX_CHARACTERS, judging_start
from evaluations.talks.subjects import subject_of


class JudgingIn(serializers.Serializer[Any]):
    judge = serializers.CharField(max_length=100, help_text="A slug of the catalogue.")
    mode = serializers.ChoiceField(
        choices=MODES,
        default="single",
        help_text="Score each agent, or compare conversations that differ in one model.",
    )
    rubric = serializers.CharField(
        default="", allow_blank=True, max_length=RUBRIC_MAX_CHARACTERS, help_text="What to judge by."
    )


class JudgingStartedOut(serializers.Serializer[Any]):
    job = serializers.CharField(help_text="See `jobs/{id}/`.")
    judgments = serializers.IntegerField(help_text="How many are asked for.")


class TalkScoreOut(serializers.Serializer[Any]):
    model = serializers.CharField()
    mean = serializers.FloatField(help_text="From 1 to 10.")
    lower = serializers.FloatField(help_text="Of the 95% bootstrap interval over conversations.")
    upper = serializers.FloatField()
    count = serializers.IntegerField()
    rank = serializers.IntegerField()


class TalkGamesOut(serializers.Serializer[Any]):
    model = serializers.CharField()
    wins = serializers.IntegerField(help_text="Where both orders agree.")
    losses = serializers.IntegerField()
    ties = serializers.IntegerField()
    win_rate = serializers.FloatField(help_text="A tie is half a win.")


class JudgingOut(serializers.Serializer[Any]):
    judge = serializers.CharField()
    rubric = serializers.CharField(help_text="Empty for the usual one.")
    scores = TalkScoreOut(many=True)
    games = TalkGamesOut(many=True)
    consistent = serializers.FloatField(allow_null=True, help_text="Share of pairs on which both orders agree.")
    without_verdict = serializers.DictField(child=serializers.IntegerField(), help_text="Judgments, by state.")


class TalkJudgmentOut(serializers.ModelSerializer[TalkJudgment]):
    judge = serializers.CharField(source="judge.slug")
    conversation = serializers.CharField(source="conversation_id")
    other = serializers.CharField(source="other_id", allow_null=True, help_text="Of two: the other conversation.")

    class Meta:
        model = TalkJudgment
        fields = (
            "judge", "conversation", "other", "side", "game", "prompt_version", "rubric", "state", "score_a", "score_b",
            "reason_a", "reason_b", "winner", "text",
        )  # fmt: skip
        read_only_fields = fields


def _user(request: Request) -> User:
    return cast(User, request.user)


class JudgingView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}

    @extend_schema(operation_id="experiments_judging", responses=JudgingOut(many=True))
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """What judges said of an experiment's conversations, by judge and rubric."""
        subject = subject_of(owner=_user(request), experiment_id=experiment_id)
        return Response(JudgingOut(judging_results(owner=_user(request), subject=subject), many=True).data)

    @extend_schema(operation_id="experiments_judge", request=JudgingIn, responses={202: JudgingStartedOut})
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """Have a judge score the agents of each finished conversation, or compare those that differ in one model. What
        has a verdict is not asked for again."""
        return _started(request, experiment_id=experiment_id)


class JudgmentsView(APIView):
    required_scopes = Scope.READ
    pagination_class = Pagination

    @extend_schema(operation_id="experiments_judgments", responses=TalkJudgmentOut(many=True))
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """Each judgment with its reasons and the judge's words."""
        subject = subject_of(owner=_user(request), experiment_id=experiment_id)
        return page_of(self, judgments_of(owner=_user(request), subject=subject), TalkJudgmentOut)


class ConversationJudgingView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}

    @extend_schema(operation_id="conversations_judging", responses=TalkJudgmentOut(many=True))
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """What judges said of a conversation, comparisons with others included."""
        subject = subject_of(owner=_user(request), conversation_id=conversation_id)
        return Response(TalkJudgmentOut(judgments_of(owner=_user(request), subject=subject), many=True).data)

    @extend_schema(operation_id="conversations_judge", request=JudgingIn, responses={202: JudgingStartedOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Have a judge score both agents of a finished conversation."""
        return _started(request, conversation_id=conversation_id)


def _started(request: Request, *, experiment_id: UUID | None = None, conversation_id: UUID | None = None) -> Response:
    given = checked(JudgingIn, request.data)
    job, number = judging_start(
        owner=_user(request),
        experiment_id=experiment_id,
        conversation_id=conversation_id,
        **given,
    )
    return Response(JudgingStartedOut({"job": str(job.pk), "judgments": number}).data, status=202)
