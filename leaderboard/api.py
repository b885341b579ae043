"""The leaderboard for programs. Answers from the newest snapshot."""

from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from accounts.models import Scope, User
from common.api_views import checked
from leaderboard import selectors
from leaderboard.boards import Segment
from leaderboard.methods import Standing
from leaderboard.models import Board, Snapshot
from leaderboard.rebuild import PARAMETERS
from leaderboard.serializers import (
    BoardOut,
    BoardsOut,
    HistoryOut,
    LeaderboardHeadOut,
    LeaderboardIn,
    LeaderboardOut,
    MatrixOut,
    RatedModelOut,
    SegmentIn,
)
from leaderboard.shown import BOOTSTRAP, Shown, shown

PLACE = ("rank", "rank_lower", "rank_upper", "tier", "rating", "rating_lower", "rating_upper")
COUNTS = (
    "elo", "wins", "ties", "losses", "both_bad", "both_bad_rate", "comparisons", "win_rate", "group", "is_one_sided",
)  # fmt: skip


def _asked(request: Request, shape: type[Serializer[Any]], **more: Any) -> Shown:
    given = checked(shape, request.query_params)
    return shown(given, is_staff=cast(User, request.user).is_staff, **more)


class LeaderboardView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard", parameters=[LeaderboardIn], responses=LeaderboardOut)
    def get(self, request: Request) -> Response:
        """The ratings of all models with their 95% intervals, best first."""
        return Response(leaderboard_out(_asked(request, LeaderboardIn)))


class MyLeaderboardView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard_mine", responses=LeaderboardOut)
    def get(self, request: Request) -> Response:
        """Your own votes alone, smoothed by what everybody thinks: few votes move a model little."""
        return Response(leaderboard_out(shown({}, person_id=cast(User, request.user).pk)))


def leaderboard_out(asked: Shown) -> dict[str, Any]:
    """In the shape of LeaderboardOut."""
    whole = asked.snapshot or Snapshot(comparisons=0, voters=0, code_version="")
    answer = {
        "parameters": PARAMETERS
        | whole.parameters
        | {
            "board": asked.board.slug,
            "category": asked.segment.category,
            "language": asked.segment.language,
            "method": asked.method.key,
            "style_control": asked.is_style_controlled,
            "interval_method": BOOTSTRAP if asked.is_bootstrapped else "sandwich",
        },
        "comparisons": whole.comparisons,
        "voters": whole.voters,
        "first_at": whole.first_at,
        "last_at": whole.last_at,
        "computed_at": whole.computed_at,
        "code_version": whole.code_version,
        "is_regularised": whole.fit.get("is_regularised", False),
        "pending": asked.pending,
    }
    head = LeaderboardHeadOut(answer)  # type: ignore[arg-type] # a snapshot and what surrounds it
    return {**head.data, "results": [standing_out(row) for row in asked.standings]}


def standing_out(row: Standing) -> dict[str, Any]:
    """One row in the shape of StandingOut. By hand: 200 rows would take a serializer longer than all the rest."""
    rating, model = row.rating, row.rating.model
    return {
        "model": {"slug": model.slug, "name": model.name, "organisation": model.organisation, "url": model.url},
        **{name: getattr(row.place, name) for name in PLACE},
        **{name: getattr(rating, name) for name in COUNTS},
        "is_preliminary": row.is_preliminary,
    }


class BoardsView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard_boards", responses=BoardsOut)
    def get(self, request: Request) -> Response:
        """The boards that you may see, with the categories and languages that have a leaderboard."""
        boards = selectors.boards_listed(is_staff=cast(User, request.user).is_staff)
        segments = selectors.segments_of(*boards)
        return Response({"boards": [board_out(board, segments[board.pk]) for board in boards]})


def board_out(board: Board, segments: list[Segment]) -> dict[str, Any]:
    found: Any = board
    found.categories = [segment.category for segment in segments if segment.category]
    found.languages = [segment.language for segment in segments if segment.language]
    return dict(BoardOut(found).data)


class HistoryView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard_history", parameters=[SegmentIn], responses=HistoryOut)
    def get(self, request: Request) -> Response:
        """How the ratings and the votes came to be."""
        asked = _asked(request, SegmentIn)
        history = asked.snapshot.extras.get("history") if asked.snapshot else None
        slugs = {str(row.rating.model_id): row.rating.model.slug for row in asked.standings}
        found = history or {"unit": "day", "times": [], "votes": [], "ratings": {}}
        ratings = {slugs[key]: line for key, line in found["ratings"].items() if key in slugs}
        return Response(found | {"ratings": ratings})


class MatrixView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="leaderboard_matrix", parameters=[SegmentIn], responses=MatrixOut)
    def get(self, request: Request) -> Response:
        """Who beat whom how often: every pair of models that met."""
        asked = _asked(request, SegmentIn)
        models = {rating.model_id: rating.model for rating in asked.ratings}
        # 200 models are 19,900 pairs: plain dictionaries, for a serializer would take a second over them.
        pairs = [
            pair_out(models[first].slug, models[second].slug, *numbers)
            for first, second, *numbers in asked.pairs
            if first in models and second in models
        ]
        return Response(
            {
                "computed_at": asked.snapshot and asked.snapshot.computed_at,
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
