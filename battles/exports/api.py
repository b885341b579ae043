"""Exports for programs: streamed at once, or made by a job."""

from typing import Any, cast

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from accounts.serializers import JobOut
from battles.exports.export import NOTHING, Export, gzipped
from battles.exports.formats import FORMATS
from battles.exports.kinds import KINDS
from battles.exports.selection import RANKINGS, SHAPES, SOURCES, Selection
from battles.exports.work import export_request
from battles.models import Category
from common.api import FormatIsOurs
from common.api_views import checked
from common.audit import Deed, note
from common.downloads import streamed


class ExportIn(serializers.Serializer[Any]):
    format = serializers.ChoiceField(choices=list(FORMATS), default="jsonl")
    shape = serializers.ChoiceField(choices=SHAPES, default="standard", help_text="Plain text, or lists of messages.")
    board = serializers.SlugField(default="", allow_blank=True)
    source = serializers.ChoiceField(choices=SOURCES, default="", allow_blank=True)  # type: ignore[assignment] # a name that DRF uses for fields
    since = serializers.DateTimeField(required=False, allow_null=True)
    until = serializers.DateTimeField(required=False, allow_null=True)
    category = serializers.ChoiceField(choices=Category.choices, default="", allow_blank=True)
    language = serializers.CharField(default="", allow_blank=True, max_length=16)
    models = serializers.CharField(
        default="", allow_blank=True, help_text="Slugs with commas between; both of a pair must be among them."
    )
    minimum_votes = serializers.IntegerField(default=1, min_value=1, help_text="On the same two answers.")
    majority = serializers.FloatField(default=0.5, min_value=0.5, max_value=1, help_text="Share of them that agree.")
    ranking = serializers.ChoiceField(choices=RANKINGS, default="pairs", help_text="All pairs, or the best with each.")
    trajectories = serializers.BooleanField(default=False, help_text="Votes on several turns, as whole conversations.")
    likes = serializers.BooleanField(default=True, help_text="KTO: likes and dislikes, too.")
    ties = serializers.BooleanField(default=False, help_text="KTO: both texts of a tie, as good.")
    both_bad = serializers.BooleanField(default=False, help_text="KTO: both texts, as bad.")
    comments = serializers.BooleanField(
        default=False, help_text="A column with what people wrote about the answers. It may say who they are."
    )
    bundle = serializers.ChoiceField(
        choices=["zip"], default="", allow_blank=True, help_text="With the dataset card and the manifest."
    )
    gzip = serializers.BooleanField(default=False)
    mine = serializers.BooleanField(default=False, help_text="Administrators: only your own votes.")


def selection_of(data: dict[str, Any], user: User) -> tuple[Selection, dict[str, Any]]:
    """The filters, and how the file is wanted: format, bundle and gzip. Only staff may export what others said."""
    values = dict(data)
    is_own = values.pop("mine") or not user.is_staff
    wanted = {"format": values.pop("format"), "bundle": bool(values.pop("bundle")), "gzip": values.pop("gzip")}
    slugs = [slug.strip() for slug in values.pop("models").split(",") if slug.strip()]
    return Selection(owner_id=user.pk if is_own else None, models=slugs, **values), wanted


class ExportView(Idempotent, APIView):
    required_scopes = Scope.EXPORT
    content_negotiation_class = FormatIsOurs
    kind = ""

    @extend_schema(
        parameters=[ExportIn],
        responses={(200, media): OpenApiTypes.BINARY for media in ("application/jsonl", "text/csv", "application/zip")},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """A file of votes, streamed: your own, or for administrators those of all who share."""
        asked = checked(ExportIn, request.query_params)
        selection, wanted = selection_of(asked, cast(User, request.user))
        export = Export(kind=self.kind, selection=selection, **wanted)
        detail = {"kind": self.kind, "query": request.META.get("QUERY_STRING", "")[:500]}
        note(Deed(actor_id=request.user.pk, action="export", subject=export.name, detail=detail))
        return export_response(export, request)

    @extend_schema(request=ExportIn, responses={202: OpenApiResponse(JobOut)})
    def post(self, request: Request) -> Response:
        """The same as a job, for long ones: its file is there when it is done."""
        asked = checked(ExportIn, request.data)
        selection, wanted = selection_of(asked, cast(User, request.user))
        job = export_request(owner=cast(User, request.user), kind=self.kind, selection=selection, **wanted)
        return Response(JobOut(job, context={"request": request}).data, status=202)


def export_response(export: Export, request: Request) -> StreamingHttpResponse:
    """The file as a download; packed on the way where the client accepts that."""
    pieces = export.pieces()
    headers = {
        "Content-Disposition": f'attachment; filename="{export.name}"',
        "Cache-Control": "no-store",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if export.is_empty:
        headers["X-Message"] = NOTHING
    packs = "gzip" in request.headers.get("Accept-Encoding", "") and export.format.slug != "parquet"
    if packs and not export.bundle and not export.gzip:
        pieces = gzipped(pieces)
        headers["Content-Encoding"] = "gzip"
    return StreamingHttpResponse(streamed(pieces), content_type=export.media_type, headers=headers)


VIEWS = {slug: ExportView.as_view(kind=slug) for slug in KINDS}
