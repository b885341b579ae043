"""Battles for programs. Everything that the pages can do, and no logic of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import proofs
from accounts.idempotency import Idempotent
from accounts.models import ApiKey, Scope, User
from battles import events, generation, selectors, services, state
from battles.feed import BattleFeed, battle_now
from battles.notices import viewers_tell
from battles.serializers import (
    BattleIn,
    BattleOut,
    BattleRowOut,
    PoolOut,
    PreferenceIn,
    ReactionIn,
    ReactionOut,
    SideIn,
    StopIn,
    TurnIn,
)
from common.api import Pagination
from common.api_views import checked, page_of
from common.frames import encode
from common.openapi import Problem
from common.streams import EventStreamRenderer, now


def _user(request: Request) -> User:
    return cast(User, request.user)


def work_check(request: Request, proof: str = "") -> None:
    """Where votes need a proof of work, browsers give one; programs have a key instead. Raises what `proof_check`
    raises."""
    if proofs.is_asked(proofs.VOTE) and not isinstance(request.auth, ApiKey):
        proofs.proof_check(purpose=proofs.VOTE, who=str(request.user.pk), proof=proof)


def _whole(request: Request, battle_id: UUID) -> dict[str, Any]:
    battle, views = now(battle_now(battle_id=battle_id, viewer=_user(request)))
    return dict(BattleOut(state.battle_state(battle, views)).data)


class PoolsView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="pools_list", responses=PoolOut(many=True))
    def get(self, request: Request) -> Response:
        """The pools that a blind battle may be confined to."""
        return Response(PoolOut(selectors.pools_listed(), many=True).data)


class BattlesView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}
    pagination_class = Pagination

    @extend_schema(
        operation_id="battles_list",
        responses=BattleRowOut(many=True),
        parameters=[
            OpenApiParameter("search", str, description="Text in any prompt."),
        ],
    )
    def get(self, request: Request) -> Response:
        """Your battles, newest first."""
        battles = selectors.battles_of(owner=_user(request), query=request.query_params.get("search", ""))
        return page_of(self, battles, BattleRowOut, shown=lambda page: [state.battle_row(one) for one in page])

    @extend_schema(
        operation_id="battles_create",
        request=BattleIn,
        responses={201: BattleOut, 503: OpenApiResponse(Problem, "Fewer than two models can be reached.")},
    )
    def post(self, request: Request) -> Response:
        """Start a battle. Both sides begin to answer at once, whether or not anybody listens."""
        data = checked(BattleIn, request.data)
        begun = services.battle_start(
            owner=_user(request),
            prompt=data["prompt"],
            mode=data["mode"],
            models=data["models"],
            category=data["category"],
            system_prompt=data["system"],
            images=data["images"],
            is_blind=data["blind"],
            count=data.get("count"),
            pool=data["pool"],
        )
        now(generation.launch(begun.requests))
        return Response(_whole(request, begun.battle.id), status=201)


class BattleView(APIView):
    required_scopes = {"GET": Scope.READ, "DELETE": Scope.RUN}

    @extend_schema(operation_id="battles_read", responses=BattleOut)
    def get(self, request: Request, battle_id: UUID) -> Response:
        """The battle as you may see it now."""
        return Response(_whole(request, battle_id))

    @extend_schema(operation_id="battles_delete", responses={204: None})
    def delete(self, request: Request, battle_id: UUID) -> Response:
        """Take it out of your history. Its vote still counts."""
        services.battle_delete(battle_id=battle_id, owner=_user(request))
        return Response(status=204)


class RestoreView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="battles_restore", request=None, responses=BattleOut)
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Undo the deletion."""
        services.battle_restore(battle_id=battle_id, owner=_user(request))
        return Response(_whole(request, battle_id))


class TurnsView(Idempotent, APIView):
    required_scopes = Scope.RUN
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="battles_turn",
        request=TurnIn,
        responses={(201, "application/json"): BattleOut, (200, "text/event-stream"): OpenApiTypes.STR},
    )
    def post(self, request: Request, battle_id: UUID) -> Response | StreamingHttpResponse:
        """Ask a follow-up. With `Accept: text/event-stream` the WebSocket's frames come as they happen, else the
        answer comes when all sides have ended."""
        given = checked(TurnIn, request.data)
        begun = services.turn_begin(battle_id=battle_id, owner=_user(request), **given)
        now(generation.launch(begun.requests))
        now(viewers_tell(battle_id))
        if isinstance(request.accepted_renderer, EventStreamRenderer):
            frames = _event_stream(battle_id, _user(request))
            return StreamingHttpResponse(
                frames, content_type="text/event-stream", headers={"Cache-Control": "no-cache"}
            )
        now(generation.wait([r.response.id for r in begun.requests]))
        return Response(_whole(request, battle_id), status=201)


async def _event_stream(battle_id: UUID, viewer: User) -> AsyncIterator[bytes]:
    """The frames of the last turn, until all its sides have ended."""
    frames: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
    feed = BattleFeed(battle_id=battle_id, viewer=viewer, send=frames.put_nowait)
    try:
        await feed.open()
        while True:
            frame = await frames.get()
            yield f"data: {encode(frame)}\n\n".encode()
            if frames.empty() and not feed.is_busy:
                return
    finally:
        await feed.close()


class PreferenceView(Idempotent, APIView):
    required_scopes = Scope.VOTE

    @extend_schema(operation_id="battles_preference", request=PreferenceIn, responses={201: BattleOut})
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Vote, and learn who they were."""
        data = checked(PreferenceIn, request.data)
        work_check(request, data["proof"])
        services.preference_record(
            battle_id=battle_id,
            voter=_user(request),
            choice=data["choice"],
            ranking=data.get("ranking", ()),
            reasons=data["reasons"],
            comment=data["comment"],
        )
        now(viewers_tell(battle_id))
        return Response(_whole(request, battle_id), status=201)


class WithdrawView(APIView):
    required_scopes = Scope.VOTE

    @extend_schema(operation_id="battles_preference_withdraw", request=None, responses=BattleOut)
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Take a vote back, within a few seconds. The models stay known, so there is no second vote."""
        services.preference_withdraw(battle_id=battle_id, voter=_user(request))
        now(viewers_tell(battle_id))
        return Response(_whole(request, battle_id))


class RegenerateView(Idempotent, APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="battles_regenerate", request=SideIn, responses={201: BattleOut})
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Let one side answer the last turn anew; its earlier attempt is kept."""
        given = checked(SideIn, request.data)
        _, asked = services.response_regenerate(battle_id=battle_id, owner=_user(request), label=given["side"])
        now(generation.launch([asked]))
        now(viewers_tell(battle_id))
        return Response(_whole(request, battle_id), status=201)


class StopView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="battles_stop", request=StopIn, responses=BattleOut)
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Stop what is being written; what is there stays."""
        given = checked(StopIn, request.data)
        battle = selectors.battle_whole(battle_id=battle_id, viewer=_user(request))
        now(generation.stop(generation.responses_live(battle, given.get("side"))))
        return Response(_whole(request, battle_id))


class ReactionView(APIView):
    required_scopes = Scope.VOTE

    @extend_schema(operation_id="battles_reaction", request=ReactionIn, responses=ReactionOut)
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Like or dislike a response; null takes it back."""
        given = checked(ReactionIn, request.data)
        response, value = given["response"], given["value"]
        services.reaction_set(battle_id=battle_id, user=_user(request), response_id=response, value=value)
        return Response(ReactionOut({"response": str(response), "value": value}).data)


class ShareView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="battles_share", request=None, responses=BattleOut)
    def post(self, request: Request, battle_id: UUID) -> Response:
        """Make the link by which anybody may read this battle; only after the vote."""
        services.battle_share(battle_id=battle_id, owner=_user(request))
        return Response(_whole(request, battle_id))
