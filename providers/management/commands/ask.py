"""Asks one model in the terminal."""

import asyncio
import sys
from contextlib import aclosing
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from providers.adapters.base import (
    Finished,
    Message,
    ProviderError,
    Queued,
    ReasoningDelta,
    Sampling,
    Target,
    TextDelta,
)
from providers.adapters.http import close_clients
from providers.client import stream_answer
from providers.models import LanguageModel
from providers.selectors import target_for

EX_INTERRUPTED = 130


class Command(BaseCommand):
    help = "Ask a model and show its answer as it is written. `manage.py models` lists them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", help="its slug")
        parser.add_argument("prompt", help="- reads it from standard input")
        parser.add_argument("--system", default="", help="a system prompt, after the model's own")
        parser.add_argument("--temperature", type=float)
        parser.add_argument("--max-tokens", type=int)
        parser.add_argument("--seed", type=int)

    def handle(self, *args: Any, model: str, prompt: str, system: str, **options: Any) -> None:
        found = LanguageModel.objects.select_related("endpoint").filter(slug=model, endpoint__isnull=False).first()
        if found is None:
            raise CommandError(f"There is no model {model} that can be asked. `manage.py models` lists them.")
        text = sys.stdin.read() if prompt == "-" else prompt
        messages = [Message("system", system)] if system else []
        messages.append(Message("user", text))
        sampling = Sampling(options["temperature"], None, options["max_tokens"], options["seed"])
        try:
            asyncio.run(_ask(target_for(found), messages, sampling))
        except KeyboardInterrupt:
            sys.exit(EX_INTERRUPTED)
        except ProviderError as error:
            raise CommandError(f"{error.kind.value}: {error.detail}") from error


async def _ask(target: Target, messages: list[Message], sampling: Sampling) -> None:
    """The answer goes to standard output, all else to standard error."""
    aside = Console(stderr=True, highlight=False)
    loop = asyncio.get_running_loop()
    began, first = loop.time(), None
    try:
        async with aclosing(stream_answer(target, messages, sampling)) as events:
            async for event in events:
                match event:
                    case Queued() if event.place:
                        aside.print(f"number {event.place} in line", style="dim")
                    case ReasoningDelta():
                        aside.print(event.text, style="dim", end="", markup=False)
                    case TextDelta():
                        first = first or loop.time() - began
                        print(event.text, end="", flush=True)
                    case Finished():
                        print()
                        used = event.usage
                        aside.print(
                            f"{event.reason.value} · first token {first or 0:.2f} s · {loop.time() - began:.2f} s"
                            f" · {used.input_tokens or '?'} tokens in, {used.output_tokens or '?'} out",
                            style="dim",
                        )
    finally:
        await close_clients()
