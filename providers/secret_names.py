"""Which environment variables hold secrets: ours, which are sent to nobody, and all that an engine's process is not to
know. No Django."""

# Variables whose values are secrets of Tourney, of what it is deployed with, or addresses that may hold a password.
OURS = frozenset({
    "SECRET_KEY", "KEY_ENCRYPTION_SECRETS", "DATABASE_URL", "REDIS_URL", "BROKER_URL", "EMAIL_URL", "METRICS_TOKEN",
    "POSTGRES_PASSWORD", "PGPASSWORD",
})  # fmt: skip
ENDINGS = ("_KEY", "_TOKEN", "_PASSWORD", "_HEADERS", "_SECRET", "_SECRETS")
# What vLLM itself may need: its own settings, and what opens gated models.
OF_ENGINES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def is_ours(variable: str) -> bool:
    """Whether no endpoint may have it sent as its key."""
    name = variable.strip().upper()
    return name in OURS or name.startswith("OTEL_")


def is_hidden_from_engines(variable: str) -> bool:
    """Whether it is a secret of ours, or by its name one of somebody else's."""
    name = variable.upper()
    if name in OF_ENGINES or name.startswith("VLLM_"):
        return False
    return name in OURS or name.endswith(ENDINGS)
