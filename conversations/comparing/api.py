"""Comparing conversations, for programs."""

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import Pagination
from common.api_views import checked, page_of
from common.errors import NotFound
from common.openapi import Problem
from conversations.comparing import selectors, services
from conversations.comparing.state import pair_row, pair_state
from conversations.models import ConversationPair, Side


class PairPreferenceIn(serializers.Serializer[Any]):
    choice = serializers.ChoiceField(choices=ConversationPair.Choice.choices)
    reasons = serializers.ListField(child=serializers.CharField(max_length=64), default=list, max_length=20)
    comment = serializers.CharField(default="", allow_blank=True, max_length=services.COMMENT_MAX_CHARACTERS)


class PairTurnOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    side = serializers.ChoiceField(choices=Side.choices)
    name = serializers.CharField(help_text="As the scenario calls the agent, else Agent A or Agent B.")
    text = serializers.CharField(help_text="Markdown, as the model wrote it.")
    html = serializers.CharField(help_text="Sanitised.")


class PairAgentOut(serializers.Serializer[Any]):
    side = serializers.ChoiceField(choices=Side.choices)
    model = serializers.CharField()
    model_name = serializers.CharField()


class PairConversationOut(serializers.Serializer[Any]):
    label = serializers.ChoiceField(choices=["a", "b"])  # type: ignore[assignment] # hides one of no use here
    turns = PairTurnOut(many=True)
    id = serializers.CharField(allow_null=True, help_text="Null before the vote, and where it is somebody else's.")
    agents = PairAgentOut(many=True, allow_null=True, help_text="Null before the vote.")


class PairPartsOut(serializers.Serializer[Any]):
    a = serializers.CharField()
    b = serializers.CharField()


class PairVotedOut(serializers.Serializer[Any]):
    choice = serializers.ChoiceField(choices=ConversationPair.Choice.choices)
    reasons = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    created_at = serializers.CharField()
    is_withdrawn = serializers.BooleanField()
    can_withdraw = serializers.BooleanField()


class ConversationPairOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    is_own = serializers.BooleanField(help_text="Else somebody shares them.")
    scenario = serializers.CharField(help_text="Empty where it is not shared.")
    category = serializers.CharField()
    seed_prompt = serializers.CharField(allow_null=True, help_text="Null where it is not shared.")
    side = serializers.CharField(help_text="`a` or `b`: whose model differs; empty: that of both agents.")
    part = serializers.CharField(help_text="What that agent is called; empty where both differ.")
    parts = PairPartsOut()
    conversations = PairConversationOut(many=True)
    is_decided = serializers.BooleanField()
    is_blind = serializers.BooleanField(allow_null=True, help_text="Null before the vote.")
    preference = PairVotedOut(allow_null=True)


class ConversationPairRowOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    is_own = serializers.BooleanField()
    scenario = serializers.CharField()
    side = serializers.CharField()
    choice = serializers.ChoiceField(choices=ConversationPair.Choice.choices)
    models = serializers.ListField(child=serializers.CharField(), help_text="That of A and that of B.")
    is_blind = serializers.BooleanField()
    is_withdrawn = serializers.BooleanField()
    decided_at = serializers.DateTimeField()


def _user(request: Request) -> User:
    return cast(User, request.user)


def _whole(request: Request, pair_id: UUID) -> dict[str, Any]:
    return dict(ConversationPairOut(pair_state(selectors.pair_whole(pair_id=pair_id, viewer=_user(request)))).data)


class PairsView(APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.VOTE}
    pagination_class = Pagination

    @extend_schema(operation_id="conversation_pairs_list", responses=ConversationPairRowOut(many=True))
    def get(self, request: Request) -> Response:
        """What you have compared, newest first."""
        pairs = selectors.pairs_of(_user(request))
        return page_of(self, pairs, ConversationPairRowOut, shown=lambda page: [pair_row(one) for one in page])

    @extend_schema(
        operation_id="conversation_pairs_draw",
        request=None,
        responses={
            200: ConversationPairOut,
            409: OpenApiResponse(Problem, "There are no two that you could compare now."),
        },
    )
    def post(self, request: Request) -> Response:
        """Two finished conversations that differ in one model, without names, yours or of an experiment that somebody
        shares: those that wait for your vote, or new ones."""
        return Response(_whole(request, services.pair_draw(voter=_user(request)).pk))


class PairView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="conversation_pairs_read", responses=ConversationPairOut)
    def get(self, request: Request, pair_id: UUID) -> Response:
        """Two conversations side by side; with names once you have voted."""
        return Response(_whole(request, pair_id))


class PairPreferenceView(Idempotent, APIView):
    required_scopes = Scope.VOTE

    @extend_schema(
        operation_id="conversation_pairs_preference", request=PairPreferenceIn, responses={201: ConversationPairOut}
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Vote, and learn who they were."""
        given = checked(PairPreferenceIn, request.data)
        services.pair_vote(pair_id=pair_id, voter=_user(request), **given)
        return Response(_whole(request, pair_id), status=201)


class PairWithdrawView(APIView):
    required_scopes = Scope.VOTE

    @extend_schema(
        operation_id="conversation_pairs_withdraw",
        request=None,
        responses={
            200: ConversationPairOut,
            204: OpenApiResponse(description="Taken back, and the two are shared no more."),
        },
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Take a vote back, within a few seconds. The models stay known, so there is no second vote."""
        services.pair_withdraw(pair_id=pair_id, voter=_user(request))
        try:
            return Response(_whole(request, pair_id))
        except NotFound:
            return Response(status=204)
