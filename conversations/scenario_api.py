"""The scenario library for programs."""

from typing import cast

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import Pagination
from common.api_views import checked, page_of
from conversations import selectors, services
from conversations.models import Scenario
from conversations.scenarios import FIELDS


class ScenarioIn(serializers.ModelSerializer[Scenario]):
    class Meta:
        model = Scenario
        fields = FIELDS
        extra_kwargs = {field: {"required": False} for field in FIELDS}


class ScenarioOut(serializers.ModelSerializer[Scenario]):
    version = serializers.IntegerField()
    is_own = serializers.SerializerMethodField(help_text="False for those of the library.")

    class Meta:
        model = Scenario
        fields = ["slug", "version", "is_own", *FIELDS]

    def get_is_own(self, scenario: Scenario) -> bool:
        return scenario.owner_id is not None


class ScenariosView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}
    pagination_class = Pagination

    @extend_schema(operation_id="scenarios_list", responses=ScenarioOut(many=True))
    def get(self, request: Request) -> Response:
        """The newest version of each scenario that you may use."""
        return page_of(self, selectors.scenarios_for(cast(User, request.user)), ScenarioOut)

    @extend_schema(operation_id="scenarios_create", request=ScenarioIn, responses={201: ScenarioOut})
    def post(self, request: Request) -> Response:
        """A scenario of your own."""
        made = services.scenario_create(owner=cast(User, request.user), values=checked(ScenarioIn, request.data))
        return Response(ScenarioOut(made).data, status=201)


class ScenarioView(APIView):
    required_scopes = {"GET": Scope.READ, "PUT": Scope.RUN}

    @extend_schema(
        operation_id="scenarios_read",
        responses=ScenarioOut,
        parameters=[OpenApiParameter("version", int, description="The newest, where left out.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        """A scenario, in any of its versions."""
        version = request.query_params.get("version", "")
        number = int(version) if version.isdecimal() and len(version) < 10 else None
        found = selectors.scenario_get(slug=slug, viewer=cast(User, request.user), version=number)
        return Response(ScenarioOut(found).data)

    @extend_schema(operation_id="scenarios_edit", request=ScenarioIn, responses=ScenarioOut)
    def put(self, request: Request, slug: str) -> Response:
        """Add a version; what is left out stays. Those of the library are for staff to edit: copy them."""
        after = services.scenario_edit(
            slug=slug, editor=cast(User, request.user), values=checked(ScenarioIn, request.data)
        )
        return Response(ScenarioOut(after).data)


class ScenarioCopyView(Idempotent, APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="scenarios_copy", request=None, responses={201: ScenarioOut})
    def post(self, request: Request, slug: str) -> Response:
        """A scenario of your own that begins as this one is now."""
        made = services.scenario_copy(slug=slug, owner=cast(User, request.user))
        return Response(ScenarioOut(made).data, status=201)
