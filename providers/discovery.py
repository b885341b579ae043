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
# Variable, service, and the address at which it speaks the OpenAI wire.
KEYS = (
    ("OPENAI_API_KEY", "OpenAI", "https://api.openai.com/v1"),
    ("ANTHROPIC_API_KEY", "Anthropic", "https://api.anthropic.com/v1"),
    ("GEMINI_API_KEY", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("OPENROUTER_API_KEY", "OpenRouter", "https://openrouter.ai/api/v1"),
    ("NVIDIA_API_KEY", "NVIDIA", "https://integrate.api.nvidia.com/v1"),
    ("DEEPSEEK_API_KEY", "DeepSeek", "https://api.deepseek.com/v1"),
    ("MISTRAL_API_KEY", "Mistral", "https://api.mistral.ai/v1"),
    ("GROQ_API_KEY", "Groq", "https://api.groq.com/openai/v1"),
    ("TOGETHER_API_KEY", "Together", "https://api.together.xyz/v1"),
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
        how=f"Add an endpoint with the address {address} and no key, and a language model for each that may answer.",
    )


def _key(variable: str, service: str, address: str) -> Discovery:
    return Discovery(
        name=service,
        what=f"The environment holds a key in {variable}.",
        how=f"Add an endpoint with the address {address} and {variable} as the name of the variable that holds its key,"
        " and a language model for each that may answer.",
    )
