"""Conversations for programs. Everything that the pages can do, and no logic of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

from channels.layers import get_channel_layer
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import Pagination
from common.api_views import checked, page_of
from common.frames import encode
from common.streams import EventStreamRenderer, now
from conversations import driving, events, reading, selectors, services, state
from conversations.feed import ConversationFeed, conversation_now
from conversations.models import Side
from conversations.notices import group_of, viewers_tell
from conversations.sampling import SAMPLED, sampling_of
from conversations.serializers import (
    AnalysisIn,
    BranchIn,
    ConversationIn,
    ConversationOut,
    ConversationRowOut,
    ExtendIn,
    InjectIn,
    MeasuresOut,
)


def _user(request: Request) -> User:
    return cast(User, request.user)


def _agent_spec(given: dict[str, Any]) -> services.AgentSpec:
    rest = {name: value for name, value in given.items() if name not in SAMPLED}
    return services.AgentSpec(sampling=sampling_of(given), **rest)


def whole(request: Request, conversation_id: UUID) -> dict[str, Any]:
    conversation, views = now(conversation_now(conversation_id=conversation_id, viewer=_user(request)))
    return dict(ConversationOut(state.conversation_state(conversation, views)).data)


class ConversationsView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}
    pagination_class = Pagination

    @extend_schema(
        operation_id="conversations_list",
        responses=ConversationRowOut(many=True),
        parameters=[OpenApiParameter("search", str, description="Text in what was said.")],
    )
    def get(self, request: Request) -> Response:
        """Your conversations, newest first."""
        found = selectors.conversations_of(owner=_user(request), query=request.query_params.get("search", ""))
        return page_of(
            self, found, ConversationRowOut, shown=lambda page: [state.conversation_row(one) for one in page]
        )

    @extend_schema(operation_id="conversations_create", request=ConversationIn, responses={201: ConversationOut})
    def post(self, request: Request) -> Response:
        """Make a conversation of two agents. It begins with `run/`, or with the first `turn/`."""
        data = checked(ConversationIn, request.data)
        scenario = None
        if slug := data.get("scenario"):
            version = data.get("scenario_version")
            scenario = selectors.scenario_get(slug=slug, viewer=_user(request), version=version)
        rules = ("max_turns", "stop_phrase", "stops_on_goodbye", "stops_on_repetition", "token_budget", "cost_budget")
        wanted = services.NewConversation(
            agents={side: _agent_spec(data[f"agent_{side}"]) for side in Side},
            seed_prompt=data["seed_prompt"],
            scenario=scenario,
            first_side=Side(data["first"]) if data.get("first") else None,
            rules=services.Rules(**{name: data[name] for name in rules if name in data}),
            seed=data.get("seed"),
            category=data["category"],
        )
        conversation = services.conversation_create(owner=_user(request), wanted=wanted)
        return Response(whole(request, conversation.id), status=201)


class ConversationView(APIView):
    required_scopes = {"GET": Scope.READ, "DELETE": Scope.RUN}

    @extend_schema(operation_id="conversations_read", responses=ConversationOut)
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """The conversation as it is now."""
        return Response(whole(request, conversation_id))

    @extend_schema(operation_id="conversations_delete", responses={204: None})
    def delete(self, request: Request, conversation_id: UUID) -> Response:
        """Stop it, and take it out of your list."""
        live = services.conversation_stop(conversation_id=conversation_id, owner=_user(request))
        now(driving.stop(live))
        services.conversation_delete(conversation_id=conversation_id, owner=_user(request))
        return Response(status=204)


class MeasuresView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="conversations_measures", responses=MeasuresOut)
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """What can be counted in it without a model."""
        conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=_user(request))
        return Response(MeasuresOut(selectors.measures_of(conversation)).data)


class NextTurnView(Idempotent, APIView):
    required_scopes = Scope.RUN
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="conversations_turn",
        request=None,
        responses={(201, "application/json"): ConversationOut, (200, "text/event-stream"): OpenApiTypes.STR},
    )
    def post(self, request: Request, conversation_id: UUID) -> Response | StreamingHttpResponse:
        """Have the next turn. With `Accept: text/event-stream` the WebSocket's frames come as they happen, else the
        answer comes when the turn has ended."""
        services.conversation_run(conversation_id=conversation_id, owner=_user(request), is_single=True)
        now(driving.drive(conversation_id))
        if isinstance(request.accepted_renderer, EventStreamRenderer):
            frames = _event_stream(conversation_id, _user(request))
            return StreamingHttpResponse(
                frames, content_type="text/event-stream", headers={"Cache-Control": "no-cache"}
            )
        now(driving.wait(conversation_id))
        return Response(whole(request, conversation_id), status=201)


async def _event_stream(conversation_id: UUID, viewer: User) -> AsyncIterator[bytes]:
    """The frames of a conversation until it stands still."""
    layer = get_channel_layer()
    assert layer is not None  # settings always name one
    frames: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
    feed = ConversationFeed(conversation_id=conversation_id, viewer=viewer, send=frames.put_nowait)
    channel = await layer.new_channel()
    await layer.group_add(group_of(conversation_id), channel)

    async def follow() -> None:
        while True:
            await layer.receive(channel)
            await feed.refresh()

    following = asyncio.create_task(follow())
    try:
        await feed.open()
        while True:
            frame = await frames.get()
            yield f"data: {encode(frame)}\n\n".encode()
            if frames.empty() and not feed.is_busy:
                return
    finally:
        following.cancel()
        await layer.group_discard(group_of(conversation_id), channel)
        await feed.close()


class _Act(APIView):
    """Something that is done to a conversation; answers with how it is then."""

    required_scopes = Scope.RUN

    def answer(self, request: Request, conversation_id: UUID, status: int = 200) -> Response:
        now(viewers_tell(conversation_id))
        return Response(whole(request, conversation_id), status=status)


class RunView(_Act):
    @extend_schema(operation_id="conversations_run", request=None, responses=ConversationOut)
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Play on to the end, whether or not anybody listens."""
        if services.conversation_run(conversation_id=conversation_id, owner=_user(request)):
            now(driving.drive(conversation_id))
        return self.answer(request, conversation_id)


class StepView(_Act):
    @extend_schema(operation_id="conversations_step", request=None, responses=ConversationOut)
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Begin the next turn, and stand still behind it. Unlike `turn/` it does not wait for its end."""
        services.conversation_run(conversation_id=conversation_id, owner=_user(request), is_single=True)
        now(driving.drive(conversation_id))
        return self.answer(request, conversation_id)


class PauseView(_Act):
    @extend_schema(operation_id="conversations_pause", request=None, responses=ConversationOut)
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Stand still after the turn that is being written."""
        services.conversation_pause(conversation_id=conversation_id, owner=_user(request))
        return self.answer(request, conversation_id)


class StopView(_Act):
    @extend_schema(operation_id="conversations_stop", request=None, responses=ConversationOut)
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """End it now; what is there stays."""
        live = services.conversation_stop(conversation_id=conversation_id, owner=_user(request))
        now(driving.stop(live))
        return self.answer(request, conversation_id)


class RetryView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_retry", request=None, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Have the last turn once more. The earlier attempt is kept, and stands again should the new one fail."""
        services.turn_retry(conversation_id=conversation_id, owner=_user(request))
        now(driving.drive(conversation_id))
        return self.answer(request, conversation_id, status=201)


class ExtendView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_extend", request=ExtendIn, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Allow some turns more; one that has ended can go on."""
        given = checked(ExtendIn, request.data)
        services.conversation_extend(conversation_id=conversation_id, owner=_user(request), turns=given["turns"])
        return self.answer(request, conversation_id, status=201)


class InjectView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_inject", request=InjectIn, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Say something as the moderator: both agents hear it before their next turn."""
        given = checked(InjectIn, request.data)
        services.conversation_inject(conversation_id=conversation_id, owner=_user(request), text=given["text"])
        return self.answer(request, conversation_id, status=201)


class BranchView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_branch", request=BranchIn, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """A new conversation that shares the beginning and can go on otherwise."""
        given = checked(BranchIn, request.data)
        branch = services.conversation_branch(
            conversation_id=conversation_id, owner=_user(request), position=given["position"]
        )
        return self.answer(request, branch.id, status=201)


class AnalysisView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_analysis", request=AnalysisIn, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Have a model read what was said so far. It is written in the background; several may stand side by side."""
        given = checked(AnalysisIn, request.data)
        asked = services.analysis_begin(conversation_id=conversation_id, owner=_user(request), **given)
        now(reading.launch(asked))
        return self.answer(request, conversation_id, status=201)


class AnalysisRetryView(Idempotent, _Act):
    @extend_schema(operation_id="conversations_analysis_retry", request=None, responses={201: ConversationOut})
    def post(self, request: Request, conversation_id: UUID, analysis_id: UUID) -> Response:
        """Have an analysis that failed, or in which nothing was understood, once more in its place."""
        asked = services.analysis_retry(conversation_id=conversation_id, owner=_user(request), analysis_id=analysis_id)
        now(reading.launch(asked))
        return self.answer(request, conversation_id, status=201)
