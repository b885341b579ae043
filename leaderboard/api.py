"""The leaderboard for programs. Answers from the newest snapshot."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from leaderboard import selectors
from leaderboard.models import Snapshot
from leaderboard.rebuild import PARAMETERS
from leaderboard.serializers import LeaderboardIn, LeaderboardOut, MatrixOut, RatedModelOut
from leaderboard.table import COLUMNS, in_order

# Which column of the table puts the rows in a method's order.
ORDERS = {"bradley_terry": "rank", "elo": "elo", "win_rate": "win_rate"}


class LeaderboardView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard", parameters=[LeaderboardIn], responses=LeaderboardOut)
    def get(self, request: Request) -> Response:
        """The ratings of all models with their 95% intervals, best first."""
        asked = LeaderboardIn(data=request.query_params)
        asked.is_valid(raise_exception=True)
        method = asked.validated_data["method"]
        snapshot = selectors.leaderboard_latest()
        column = COLUMNS[ORDERS[method]]
        ratings = in_order(snapshot.ratings.all(), column, descending=column.descending) if snapshot else []
        whole = snapshot or Snapshot(comparisons=0, voters=0, code_version="")
        answer = {
            "parameters": PARAMETERS | whole.parameters | {"method": method},
            "comparisons": whole.comparisons,
            "voters": whole.voters,
            "first_at": whole.first_at,
            "last_at": whole.last_at,
            "computed_at": whole.computed_at,
            "code_version": whole.code_version,
            "is_regularised": whole.fit.get("is_regularised", False),
            "pending": selectors.pending_count(snapshot),
            "results": ratings,
        }
        return Response(LeaderboardOut(answer).data)  # type: ignore[arg-type] # a snapshot and what surrounds it


class MatrixView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard_matrix", responses=MatrixOut)
    def get(self, request: Request) -> Response:
        """Who beat whom how often: every pair of models that met."""
        snapshot, models = selectors.pairs_latest()
        # 200 models are 19,900 pairs: plain dictionaries, for a serializer would take a second over them.
        pairs = [
            pair_out(models[first].slug, models[second].slug, *numbers)
            for first, second, *numbers in (snapshot.pairs if snapshot else [])
            if first in models and second in models
        ]
        return Response(
            {
                "computed_at": snapshot and snapshot.computed_at,
                "models": RatedModelOut(list(models.values()), many=True).data,
                "pairs": pairs,
            }
        )


def pair_out(model_a: str, model_b: str, wins_a: int, wins_b: int, ties: int, both_bad: int) -> dict[str, Any]:
    """One pair in the shape of PairOut."""
    played = wins_a + wins_b + ties
    return {
        "model_a": model_a,
        "model_b": model_b,
        "wins_a": wins_a,
        "wins_b": wins_b,
        "ties": ties,
        "both_bad": both_bad,
        "win_rate_a": (wins_a + ties / 2) / played if played else None,
        "win_rate_b": (wins_b + ties / 2) / played if played else None,
    }
