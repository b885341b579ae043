"""The shapes of jobs in the API, fields named one by one."""

from typing import Any

from rest_framework import serializers
from rest_framework.reverse import reverse

from accounts.models import Job


class JobOut(serializers.ModelSerializer[Job]):
    """Long work: poll it until `state` is done, failed or cancelled."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=Job.State.choices)
    progress = serializers.SerializerMethodField(help_text="From 0 to 1; null while nobody can say.")
    error = serializers.CharField(help_text="What went wrong, with the line of a file where it is about one.")
    result = serializers.DictField()
    file = serializers.SerializerMethodField(help_text="Where to fetch what it made; null where there is no file.")

    class Meta:
        model = Job
        fields = [
            "id",
            "kind",
            "state",
            "progress",
            "done",
            "total",
            "result",
            "error",
            "file",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = ["kind", "done", "total", "created_at", "started_at", "finished_at"]

    def get_progress(self, job: Job) -> float | None:
        if job.state == Job.State.DONE:
            return 1.0
        return min(1.0, job.done / job.total) if job.total else None

    def get_file(self, job: Job) -> str | None:
        if not (job.file and job.state == Job.State.DONE and job.result.get("file")):
            return None
        address: Any = reverse("api_job_file", args=[job.pk], request=self.context.get("request"))
        return str(address)
