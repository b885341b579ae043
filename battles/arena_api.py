"""One prompt, all models: the shapes of the annotation tool that scripts of our users were written against.

Labels are slugs here. A run is a named line-up of its own, so that everything else of Tourney works with it, too.
Source: the model arena of Potato.
"""

from random import Random
from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from battles import arena, generation, services
from battles.api import work_check
from battles.serializers import TurnIn
from common.api_views import checked
from common.openapi import Problem
from common.streams import now
from leaderboard.statistics.suggesting import STRATEGIES

PAIRS_MAX = 100


class RunIn(TurnIn):
    prompt = serializers.CharField(max_length=100_000)
    models = serializers.ListField(child=serializers.CharField(max_length=100), default=list, max_length=26)


class ResultOut(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="Slug.")  # type: ignore[assignment] # hides the serializer's own
    response = serializers.CharField()
    latency_ms = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True)


class RunOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    prompt = serializers.CharField()
    results = ResultOut(many=True)


class ArenaPreferenceIn(serializers.Serializer[Any]):
    id = serializers.UUIDField(required=False)
    prompt = serializers.CharField(required=False)
    winner = serializers.CharField(max_length=100, help_text="Slug.")
    ranking = serializers.ListField(child=serializers.CharField(max_length=100), default=list, max_length=26)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "id" not in attrs and "prompt" not in attrs:
            raise serializers.ValidationError("Say which run it is about: give its id, or its prompt.")
        if attrs["ranking"] and attrs["ranking"][0] != attrs["winner"]:
            raise serializers.ValidationError("The winner must stand first in the ranking.")
        return attrs


class ArenaRowOut(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="Slug.")  # type: ignore[assignment] # hides the serializer's own
    bt_score = serializers.FloatField(allow_null=True)
    elo = serializers.FloatField()
    wins = serializers.IntegerField()
    comparisons = serializers.IntegerField()
    win_rate = serializers.FloatField(allow_null=True)


class ArenaLeaderboardOut(serializers.Serializer[Any]):
    leaderboard = ArenaRowOut(many=True, help_text="Best first.")


class RecordedOut(ArenaLeaderboardOut):
    recorded = serializers.BooleanField()


class DpoOut(serializers.Serializer[Any]):
    prompt = serializers.CharField()
    chosen = serializers.CharField()
    rejected = serializers.CharField()


class ArenaExportOut(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    pairs = DpoOut(many=True)


class SuggestIn(serializers.Serializer[Any]):
    k = serializers.IntegerField(default=5, min_value=1, max_value=PAIRS_MAX)
    strategy = serializers.ChoiceField(choices=STRATEGIES, default=STRATEGIES[0])


class SuggestedPairOut(serializers.Serializer[Any]):
    model_a = serializers.CharField()
    model_b = serializers.CharField()


class SuggestOut(serializers.Serializer[Any]):
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    pairs = SuggestedPairOut(many=True)


class RunView(Idempotent, APIView):
    required_scopes = Scope.RUN

    @extend_schema(
        operation_id="arena_run",
        request=RunIn,
        responses={200: RunOut, 503: OpenApiResponse(Problem, "Fewer than two models can be reached.")},
    )
    def post(self, request: Request) -> Response:
        """Ask all models at once and wait for all; one that fails says so and holds up nobody."""
        user, data = cast(User, request.user), checked(RunIn, request.data)
        begun = services.battle_start(owner=user, prompt=data["prompt"], mode="lineup", models=data["models"])
        now(generation.launch(begun.requests))
        now(generation.wait([one.response.id for one in begun.requests]))
        return Response(RunOut(arena.run_shown(battle_id=begun.battle.id, owner=user)).data)


class ArenaPreferenceView(Idempotent, APIView):
    required_scopes = Scope.VOTE

    @extend_schema(operation_id="arena_preference", request=ArenaPreferenceIn, responses=RecordedOut)
    def post(self, request: Request) -> Response:
        """Record the best of a run, or a ranking of it. The leaderboard follows within seconds."""
        data = checked(ArenaPreferenceIn, request.data)
        work_check(request)
        battle_id: UUID | None = data.get("id")
        arena.run_judged(
            owner=cast(User, request.user),
            battle_id=battle_id,
            prompt=data.get("prompt", ""),
            winner=data["winner"],
            ranking=data["ranking"],
        )
        return Response(RecordedOut({"recorded": True, "leaderboard": arena.leaderboard_shown()}).data)


class ArenaLeaderboardView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="arena_leaderboard", responses=ArenaLeaderboardOut)
    def get(self, request: Request) -> Response:
        """The ratings of all models, best first."""
        return Response(ArenaLeaderboardOut({"leaderboard": arena.leaderboard_shown()}).data)


class ArenaExportView(APIView):
    required_scopes = Scope.EXPORT

    @extend_schema(operation_id="arena_export_dpo", responses=ArenaExportOut)
    def get(self, request: Request) -> Response:
        """Your own preferences as DPO pairs, each once and by the rules of `exports/dpo/`, which streams large ones."""
        pairs = arena.dpo_pairs(owner=cast(User, request.user))
        return Response({"count": len(pairs), "pairs": pairs})


class SuggestView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="arena_suggest_pairs", parameters=[SuggestIn], responses=SuggestOut)
    def get(self, request: Request) -> Response:
        """Which models to compare next."""
        data = checked(SuggestIn, request.query_params)
        pairs = arena.pairs_suggested(k=data["k"], strategy=data["strategy"], rng=Random())
        return Response(SuggestOut({"strategy": data["strategy"], "pairs": pairs}).data)
