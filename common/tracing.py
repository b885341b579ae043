"""Traces for OpenTelemetry, where it is installed (requirements-otel.txt) and asked for (OTEL=true); else every span is
nothing. Where traces go is told in OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT. Spans hold ids,
routes and counts, never a text."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from common.logs import ids_now

log = logging.getLogger(__name__)

NAME = "tourney"
_tracer: Any = None


def tracing_begin(*, process: str, exporter: Any = None) -> None:
    """Have this process send its spans; once. `exporter` is the OTLP one unless another is given."""
    global _tracer
    if _tracer is not None or not settings.OTEL:
        return
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            processor: Any = BatchSpanProcessor(OTLPSpanExporter())
        else:
            processor = SimpleSpanProcessor(exporter)
    except ImportError:
        log.warning("OTEL=true, but OpenTelemetry is not installed: pip install -r requirements-otel.txt")
        return
    os.environ.setdefault("OTEL_SERVICE_NAME", NAME)
    resource = Resource.create({"service.version": settings.VERSION, "tourney.process": process})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer(NAME)


def tracing_end() -> None:
    """Back to nothing; for tests."""
    global _tracer
    _tracer = None


@contextmanager
def span(name: str, **attributes: str | int | float) -> Iterator[Any]:
    """A span around what happens within, with the ids of the log; yields it, or None where there is no tracing."""
    if _tracer is None:
        yield None
        return
    said = {f"tourney.{key}": value for key, value in {**ids_now(), **attributes}.items()}
    from opentelemetry.trace import StatusCode

    # The words of an exception may hold a text; that there was one is enough.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with _tracer.start_as_current_span(name, attributes=said, **quiet) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(StatusCode.ERROR, type(error).__name__)
            raise
