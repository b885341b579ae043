"""Jobs for programs."""

from typing import cast
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import jobs, selectors
from accounts.models import Job, Scope, User
from accounts.serializers import JobOut
from common.api import Pagination
from common.downloads import file_download


class JobsView(ListAPIView[Job]):
    required_scopes = Scope.READ
    serializer_class = JobOut
    pagination_class = Pagination
    queryset = Job.objects.none()

    @extend_schema(operation_id="jobs_list")
    def get(self, request: Request) -> Response:
        """Your jobs, newest first."""
        self.queryset = selectors.jobs_of(cast(User, request.user))
        return self.list(request)


class JobView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="jobs_read", responses=JobOut)
    def get(self, request: Request, job_id: UUID) -> Response:
        """How far it is."""
        job = selectors.job_of(cast(User, request.user), job_id)
        return Response(JobOut(job, context={"request": request}).data)


class JobCancelView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="jobs_cancel", request=None, responses=JobOut)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Have it end; what it changed so far is taken back."""
        job = jobs.job_cancel(owner=cast(User, request.user), job_id=job_id)
        return Response(JobOut(job, context={"request": request}).data)


class JobFileView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="jobs_file", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, job_id: UUID) -> StreamingHttpResponse:
        """What it made."""
        job = selectors.job_with_file(cast(User, request.user), job_id)
        return file_download(job.file.open("rb"), name=job.result["file"], media_type="application/octet-stream")
