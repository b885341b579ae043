"""Exports as jobs, for those that take long."""

import tempfile
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.files import File
from django.utils.dateparse import parse_datetime

from accounts.jobs import Progress, job_create, job_kind
from accounts.models import Job, User
from battles.exports.export import Export
from battles.exports.selection import Selection

KIND = "export"


def export_request(*, owner: User, kind: str, selection: Selection, **wanted: Any) -> Job:
    """Have a worker make the file. Raises ExportInvalid at once where the filters are wrong."""
    Export(kind=kind, selection=selection, **wanted)
    filters = {k: v.isoformat() if isinstance(v, datetime) else v for k, v in asdict(selection).items()}
    title = f"Export of {kind}"
    return job_create(owner=owner, kind=KIND, parameters={"title": title, "kind": kind, "filters": filters} | wanted)


@job_kind(KIND)
def export_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the file beside the job; begun again, it is written anew."""
    asked = dict(job.parameters)
    filters = asked["filters"]
    for name in ("since", "until"):
        filters[name] = parse_datetime(filters[name]) if filters[name] else None
    if not job.owner.is_staff:
        filters["owner_id"] = job.owner_id  # they may have lost their rights since they asked
    export = Export(
        kind=asked["kind"],
        format=asked["format"],
        bundle=asked["bundle"],
        gzip=asked["gzip"],
        selection=Selection(**filters),
        on_row=progress,
    )
    with tempfile.TemporaryFile() as file:
        for piece in export.pieces():
            file.write(piece)
        file.seek(0)
        job.file.save(export.name, File(file), save=False)
    summary = f"{export.rows:,} rows." if export.rows else "Nothing fits these filters, so the file has no rows."
    return {"summary": summary, "file": export.name, "manifest": export.manifest()}
