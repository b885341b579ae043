"""Looks for models that a newcomer has already: servers on this machine, and keys in the environment.

It only looks and says how to go on; an administrator decides what may answer. No key leaves the environment.
"""

import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import msgspec

LOOK_SECONDS = 0.5
NAMED_MAX = 5  # models that a sentence names

SERVERS = {"Ollama": 11434, "vLLM": 8000, "LM Studio": 1234, "llama.cpp": 8080}
# Variable and service; both as in presets.yaml.
KEYS = (
    ("OPENAI_API_KEY", "OpenAI"),
    ("ANTHROPIC_API_KEY", "Anthropic"),
    ("GEMINI_API_KEY", "Gemini"),
    ("OPENROUTER_API_KEY", "OpenRouter"),
    ("NVIDIA_API_KEY", "NVIDIA"),
    ("DEEPSEEK_API_KEY", "DeepSeek"),
    ("MISTRAL_API_KEY", "Mistral"),
    ("GROQ_API_KEY", "Groq"),
    ("TOGETHER_API_KEY", "Together"),
)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Who it is, what was found of it, and how to enable it, in plain sentences."""

    name: str
    what: str
    how: str


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def discover(
    *,
    environment: Mapping[str, str] = os.environ,
    servers: Mapping[str, int] = SERVERS,
    own_ports: Collection[int] = (),
) -> list[Discovery]:
    """All that is found; takes LOOK_SECONDS at most, or a little more. `own_ports` are Tourney's own."""
    looked_at = {name: port for name, port in servers.items() if port not in own_ports}
    with ThreadPoolExecutor(max(len(looked_at), 1)) as pool:
        found = [discovery for discovery in pool.map(_server, looked_at.keys(), looked_at.values()) if discovery]
    return found + [_key(*key) for key in KEYS if environment.get(key[0], "").strip()]


def _server(name: str, port: int) -> Discovery | None:
    """What listens there, if it speaks the OpenAI wire."""
    address = f"http://127.0.0.1:{port}/v1"
    try:
        answer = httpx2.get(f"{address}/models", timeout=LOOK_SECONDS, trust_env=False)
        models = msgspec.json.decode(answer.raise_for_status().content, type=_Models).data
    except (httpx2.HTTPError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    names = ", ".join(model.id for model in models[:NAMED_MAX]) + (" and more" if len(models) > NAMED_MAX else "")
    return Discovery(
        name=name,
        what=f"A server answers at {address}. " + (f"It offers {names}." if names else "It offers no model yet."),
        how=f"The endpoint {name} is ready in the administration: enable it, and import its models.",
    )


def _key(variable: str, service: str) -> Discovery:
    return Discovery(
        name=service,
        what=f"The environment holds a key in {variable}.",
        how=f"The ready endpoint {service} uses it: its models may be drawn, unless an administrator turned it off.",
    )
