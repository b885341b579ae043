"""What is seen of it: metrics, traces, logs."""

import os
import socket
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from arena_project.settings.base import SECURE, TESTING, VAR, env
from common.proxies import networks_of

# Metrics are served to whoever has the token or comes from these addresses; without either there are none.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
METRICS_FROM = env.list("METRICS_FROM", default=[])
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(VAR / "metrics" / socket.gethostname())))
METRICS_WORKER_PORT = env.int("METRICS_WORKER_PORT", default=0)
METRICS_WORKER_HOST = env.str("METRICS_WORKER_HOST", default="127.0.0.1")
try:
    networks_of(METRICS_FROM)
except ValueError as error:
    raise ImproperlyConfigured(f"METRICS_FROM must be addresses or networks: {error}") from error
if (METRICS_TOKEN or METRICS_FROM or METRICS_WORKER_PORT) and not TESTING:
    METRICS_DIR.mkdir(parents=True, exist_ok=True)
    # Read by prometheus_client when common.metrics is imported: all processes of this host count together.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)
OTEL = env.bool("OTEL", default=False)

# JSON where this is a real server, plain where somebody looks at a terminal.
LOG_FORMAT = env.str("LOG_FORMAT", default="json" if SECURE else "plain")
if LOG_FORMAT not in ("json", "plain"):
    raise ImproperlyConfigured("LOG_FORMAT must be json or plain")
LOG_REQUESTS = env.bool("LOG_REQUESTS", default=LOG_FORMAT == "json")
LOG_PROMPTS = env.bool("LOG_PROMPTS", default=False)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "common.logs.PlainFormatter"},
        "json": {"()": "common.logs.JSONFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # At DEBUG these log what is sent, or every statement of SQL with its values.
        **{
            name: {"level": "DEBUG" if LOG_PROMPTS else "INFO"}
            for name in ("openai", "anthropic", "django.db.backends")
        },
        **{name: {"level": "INFO"} for name in ("httpcore2", "markdown_it")},
        "daphne": {"level": "WARNING"},
        "stamina": {"level": "ERROR"},  # providers.client says more of each retry
        "django.channels.server": {"level": "WARNING"},
    },
}
