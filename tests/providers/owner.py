"""A process that writes one answer and prints each record: `python -m tests.providers.owner URL MODEL ID`."""

import asyncio
import json
import os
import sys
from datetime import timedelta
from uuid import UUID

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django.setup()

from providers import live, live_remote  # noqa: E402 Django must be set up first
from providers.adapters.base import Message, Target  # noqa: E402


async def save(id: UUID, record: live.GenerationRecord) -> None:
    print(json.dumps({"status": record.status, "text": record.text}), flush=True)


async def main(url: str, model: str, id: UUID) -> None:
    live.start(id, Target("openai", url, model), [Message("user", "Why?")], save)
    await live.wait(id)
    await asyncio.sleep(0.5)  # for the last update to leave


if __name__ == "__main__":
    live_remote.OWNED, live_remote.RENEWED = timedelta(seconds=1), timedelta(seconds=0.3)
    asyncio.run(main(sys.argv[1], sys.argv[2], UUID(sys.argv[3])))
