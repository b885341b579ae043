"""Models: which addresses they may be at, and the engines that we run ourselves."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from arena_project.settings.base import PORT, VAR, env

# Where requests to models may go: allow, loopback (the internet and this machine), forbid (the internet only).
PRIVATE_ENDPOINTS = env.str("PRIVATE_ENDPOINTS", default="allow")
if PRIVATE_ENDPOINTS not in ("allow", "loopback", "forbid"):
    raise ImproperlyConfigured("PRIVATE_ENDPOINTS must be allow, loopback or forbid")

EMBEDDED_ENGINE = env.bool("EMBEDDED_ENGINE", default=True)
EMBEDDED_PORT = env.int("EMBEDDED_PORT", default=PORT + 1)
# Where models of our own engines are downloaded to, a folder each.
MODELS = Path(env.str("MODELS", default=str(VAR / "models"))).resolve()

# vLLM, which `manage.py engines run` looks after.
ENGINE_PYTHON = env.str("ENGINE_PYTHON", default="")
ENGINE_ASLEEP = env.str("ENGINE_ASLEEP", default="wait")
if ENGINE_ASLEEP not in ("wait", "another"):
    raise ImproperlyConfigured("ENGINE_ASLEEP must be wait or another")
ENGINE_WAIT_SECONDS = env.float("ENGINE_WAIT_SECONDS", default=300.0)
ENGINE_START_SECONDS = env.float("ENGINE_START_SECONDS", default=1800.0)
ENGINE_DRAIN_SECONDS = env.float("ENGINE_DRAIN_SECONDS", default=120.0)
if min(ENGINE_WAIT_SECONDS, ENGINE_START_SECONDS) <= 0 or ENGINE_DRAIN_SECONDS < 0:
    raise ImproperlyConfigured("ENGINE_WAIT_SECONDS and ENGINE_START_SECONDS must be more than 0")
MODELS_OFFLINE = env.bool("MODELS_OFFLINE", default=False)
