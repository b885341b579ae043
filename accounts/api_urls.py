"""The part of the API about people's own things, under /api/v1/."""

from django.urls import path

from accounts import api

urlpatterns = [
    path("jobs/", api.JobsView.as_view(), name="api_jobs"),
    path("jobs/<uuid:job_id>/", api.JobView.as_view(), name="api_job"),
    path("jobs/<uuid:job_id>/cancel/", api.JobCancelView.as_view(), name="api_job_cancel"),
    path("jobs/<uuid:job_id>/file/", api.JobFileView.as_view(), name="api_job_file"),
]
