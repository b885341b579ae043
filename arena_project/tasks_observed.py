"""What is seen of background tasks: ids for their log lines, how long they took, and a span. A task carries the id of
the request that asked for it. Celery's signals are called in the thread, or process, that runs the task."""

import time
from contextlib import ExitStack
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun, worker_init, worker_process_init
from django.conf import settings

from common import metrics
from common.logs import bound, ids_now
from common.tracing import span, tracing_begin

HEADER = "tourney_request"

_under_way: dict[str, tuple[ExitStack, float]] = {}


@before_task_publish.connect
def _name_request(headers: dict[str, Any] | None = None, **signal: Any) -> None:
    if headers is not None and (request := ids_now().get("request")):
        headers[HEADER] = request


@task_prerun.connect
def _begin(task_id: str, task: Any, **signal: Any) -> None:
    stack = ExitStack()
    stack.enter_context(bound(task=task_id, kind=task.name, request=str(task.request.get(HEADER) or "")))
    stack.enter_context(span(f"task {task.name}"))
    _under_way[task_id] = stack, time.perf_counter()


@task_postrun.connect
def _end(task_id: str, task: Any, state: str | None = None, **signal: Any) -> None:
    stack, began = _under_way.pop(task_id, (ExitStack(), time.perf_counter()))
    metrics.task_seconds.labels(task.name, (state or "unknown").lower()).observe(time.perf_counter() - began)
    stack.close()


@worker_process_init.connect
def _child_begins(**signal: Any) -> None:
    tracing_begin(process="worker")


@worker_init.connect
def _worker_begins(**signal: Any) -> None:
    """A worker on a host without a web process says its metrics itself. Its port asks for no token: it is on loopback
    unless METRICS_WORKER_HOST says otherwise, and then for a private network."""
    tracing_begin(process="worker")
    if not settings.METRICS_WORKER_PORT:
        return
    from prometheus_client import CollectorRegistry, multiprocess, start_http_server

    from arena_project.backlog import BacklogCollector

    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(BacklogCollector())
    start_http_server(settings.METRICS_WORKER_PORT, settings.METRICS_WORKER_HOST, registry)
