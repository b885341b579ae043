"""How an agent is sampled, as far as a person may choose it; the seed belongs to the conversation. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from providers.adapters.base import Sampling

# The fields of Sampling that an agent has for itself. None leaves one to its model.
SAMPLED = ("temperature", "top_p", "max_tokens")
TEMPERATURE_MAX = 5
TOKENS_MAX = 32_000
WRONG = {
    "temperature": f"A temperature is from 0 to {TEMPERATURE_MAX}.",
    "top_p": "top_p is above 0, and at most 1.",
    "max_tokens": f"Max tokens are from 1 to {TOKENS_MAX:,}.",
}
OF_THE_MODEL = "default"


def sampling_of(given: Mapping[str, Any]) -> Sampling:
    """From plain data, which may hold other things."""
    return Sampling(temperature=given.get("temperature"), top_p=given.get("top_p"), max_tokens=given.get("max_tokens"))


def wrong_in(sampling: Sampling) -> Iterator[str]:
    """The names of what is out of range."""
    if sampling.temperature is not None and not 0 <= sampling.temperature <= TEMPERATURE_MAX:
        yield "temperature"
    if sampling.top_p is not None and not 0 < sampling.top_p <= 1:
        yield "top_p"
    if sampling.max_tokens is not None and not 1 <= sampling.max_tokens <= TOKENS_MAX:
        yield "max_tokens"


def value_words(value: float | None) -> str:
    """One value, as people read it."""
    return OF_THE_MODEL if value is None else f"{value:.12g}"


def sampling_words(sampling: Sampling) -> str:
    """All that is set, such as “temperature 0.7, top_p 0.9”."""
    found = ((name, getattr(sampling, name)) for name in SAMPLED)
    return ", ".join(f"{name} {value_words(value)}" for name, value in found if value is not None) or OF_THE_MODEL
