"""The only list of wires."""

from providers.adapters.anthropic import AnthropicAdapter
from providers.adapters.base import Adapter
from providers.adapters.gemini import GeminiAdapter
from providers.adapters.openai import OpenAIAdapter

ADAPTERS: dict[str, Adapter] = {
    "openai": OpenAIAdapter(),
    "anthropic": AnthropicAdapter(),
    "gemini": GeminiAdapter(),
}


def adapter_for(kind: str) -> Adapter:
    """Raises KeyError for a kind that no adapter speaks."""
    return ADAPTERS[kind]
