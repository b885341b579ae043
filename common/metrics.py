"""Everything that Tourney measures, for Prometheus; each metric is named here and nowhere else.

A measurement costs some microseconds. None is taken for a token: a generation is observed when it has ended. Where
metrics are served (`METRICS_TOKEN` or `METRICS_FROM`) all processes of a host write into one folder, which the settings
name in PROMETHEUS_MULTIPROC_DIR before this module is imported; else they stay in the memory of each process.
"""

import os
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry(auto_describe=True)
# Looked up when metrics are asked for, since the broker alone knows it.
QUEUE_LENGTH = "tourney_queue_length"

_SECONDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 30, 60, 120)
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TASK_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200)
_SPEEDS = (1, 2, 5, 10, 20, 30, 45, 60, 90, 130, 200, 300, 500, 1000)

requests = Counter(
    "tourney_http_requests_total", "Requests by route and status.", ["method", "route", "status"], registry=REGISTRY
)
request_seconds = Histogram(
    "tourney_http_request_seconds",
    "From a request to the beginning of its answer.",
    ["route"],
    buckets=_REQUEST_SECONDS,
    registry=REGISTRY,
)
limits_reached = Counter(
    "tourney_limits_reached_total", "What was refused because it was too much at once.", ["limit"], registry=REGISTRY
)
sockets_open = Gauge(
    "tourney_sockets_open", "WebSockets that are open.", registry=REGISTRY, multiprocess_mode="livesum"
)
streams_open = Gauge("tourney_streams_open", "Answers being written.", registry=REGISTRY, multiprocess_mode="livesum")
waiting = Gauge(
    "tourney_line_length",
    "Answers that wait for a place at an endpoint.",
    ["endpoint"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
generations = Counter(
    "tourney_generations_total", "Answers that have ended.", ["endpoint", "model", "status"], registry=REGISTRY
)
failures = Counter(
    "tourney_generation_failures_total", "Answers that failed.", ["endpoint", "model", "kind"], registry=REGISTRY
)
first_token_seconds = Histogram(
    "tourney_first_token_seconds",
    "From the request to the first piece of an answer, waiting in line included.",
    ["endpoint", "model"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
generation_seconds = Histogram(
    "tourney_generation_seconds",
    "From the request to the end of an answer.",
    ["endpoint", "model"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
tokens_per_second = Histogram(
    "tourney_tokens_per_second",
    "Speed of an answer from its first piece on.",
    ["endpoint", "model"],
    buckets=_SPEEDS,
    registry=REGISTRY,
)
tokens = Counter(
    "tourney_tokens_total",
    "Tokens as the upstreams counted them.",
    ["endpoint", "model", "direction"],
    registry=REGISTRY,
)
cost = Counter("tourney_cost_usd_total", "US dollars spent on answers.", ["endpoint", "model"], registry=REGISTRY)
votes = Counter(
    "tourney_votes_total", "Votes by choice, and whether they count.", ["choice", "counts"], registry=REGISTRY
)
task_seconds = Histogram(
    "tourney_task_seconds",
    "Background tasks, by how they ended.",
    ["task", "state"],
    buckets=_TASK_SECONDS,
    registry=REGISTRY,
)


def generation_observed(
    *,
    endpoint: str,
    model: str,
    status: str,
    error_kind: str,
    latency_ms: int | None,
    first_token_ms: int | None,
    input_tokens: int | None,
    output_tokens: int | None,
    dollars: float,
) -> None:
    """Count a generation that has ended, asked of an endpoint and not answered from the store."""
    generations.labels(endpoint, model, status).inc()
    if error_kind:
        failures.labels(endpoint, model, error_kind).inc()
    if latency_ms is not None:
        generation_seconds.labels(endpoint, model).observe(latency_ms / 1000)
    if first_token_ms is not None:
        first_token_seconds.labels(endpoint, model).observe(first_token_ms / 1000)
        if output_tokens and latency_ms is not None and latency_ms > first_token_ms:
            tokens_per_second.labels(endpoint, model).observe(output_tokens * 1000 / (latency_ms - first_token_ms))
    if input_tokens:
        tokens.labels(endpoint, model, "in").inc(input_tokens)
    if output_tokens:
        tokens.labels(endpoint, model, "out").inc(output_tokens)
    if dollars:
        cost.labels(endpoint, model).inc(dollars)


def exposition(*also: Collector) -> bytes:
    """Everything measured so far by this process, or by all of this host, in Prometheus's text format; `also` are
    collectors that look something up now."""
    registry = REGISTRY
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        _forget_dead(Path(folder))
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    text = generate_latest(registry)
    for collector in also:
        own = CollectorRegistry()
        own.register(collector)
        text += generate_latest(own)
    return text


def _forget_dead(folder: Path) -> None:
    """What a process that was killed had open is open no more."""
    for file in folder.glob("gauge_live*.db"):
        pid = file.stem.rpartition("_")[2]
        if not pid.isdigit():
            continue
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):
                file.unlink()
        except PermissionError:
            pass  # it lives, as somebody else
