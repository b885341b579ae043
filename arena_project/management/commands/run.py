import asyncio
import os
import sys
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from arena_project import checks, setup
from arena_project.celery import IS_CLOCK
from arena_project.supervisor import Program, Supervisor
from providers.models import Engine
from providers.services import EMBEDDED_SLUG, discoveries_update, endpoint_reachability_set

PROBE_SECONDS = 2.0


class Command(BaseCommand):
    help = "Starts everything: web server, background worker, embedded model. Ctrl-C stops all of it."
    requires_system_checks: list[str] = []  # the checks of `run` are its own, and a start should be quick

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lock = checks.lock_var(settings.VAR)
            checks.check_ports()
            checks.check_database()
            checks.check_redis()
        except checks.EnvironmentProblem as problem:
            sys.exit(str(problem))
        # What the first page needs comes first. The rest of a later start is done beside the start of the web server.
        is_new = setup.database_migrate(self.stdout.write)
        setup.static_collect(self.stdout.write)
        setup.metrics_clear()
        endpoint_reachability_set(slug=EMBEDDED_SLUG, reachable=False)
        began_at = timezone.now()
        link = setup.finish(began_at) if is_new else None
        supervisor = Supervisor([*programs(), *engine_programs()])
        with lock:
            how = asyncio.run(supervisor.run(on_ready=lambda: ready(supervisor, began_at, link)))
            sys.stdout.flush()
            os._exit(how)  # else the look for models that are here already would be waited for


async def ready(supervisor: Supervisor, began_at: datetime, link: str | None) -> None:
    """Finish the start, say where Tourney is, then look for models that are here already."""
    if link is None:
        link = await sync_to_async(setup.finish)(began_at)
    announce(supervisor, link)
    for discovery in await sync_to_async(discoveries_update)():
        supervisor.say(f"Found {discovery.name}. {discovery.what} {discovery.how}")


def programs() -> list[Program]:
    """What runs: the order is the order of the start. How a process is started, deploy/start.sh says."""
    start, python = str(settings.BASE_DIR / "deploy/start.sh"), {"TOURNEY_PYTHON": sys.executable}
    web, worker = [start, "web", str(settings.PORT)], [start, "worker"]
    # In a container the worker is root and knows it; it takes JSON only, so that is no danger.
    alone = {"PYTHONWARNINGS": "ignore:You're running the worker", IS_CLOCK: "1"}
    found = [
        Program("web", web, python | {"HOST": settings.HOST}, health=lambda: listens(local_host(), settings.PORT)),
        Program("worker", worker, python | alone, waits_for="web"),
    ]
    if settings.EMBEDDED_ENGINE:
        found.append(
            Program(
                "engine",
                [sys.executable, "-m", "providers.engines.embedded", str(settings.EMBEDDED_PORT)],
                is_essential=False,
                health=engine_answers,
                on_health=sync_to_async(reachability_note),
            )
        )
    return found


def engine_programs() -> list[Program]:
    """What looks after engines of our own, where there are any."""
    command = [sys.executable, "manage.py", "engines", "run"]
    return [Program("engines", command, is_essential=False)] if Engine.objects.exists() else []


async def listens(host: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def engine_answers() -> bool:
    """Whether the embedded engine says that it is well; while it loads its model it answers 503."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", settings.EMBEDDED_PORT)
            writer.write(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            status = await reader.readline()
    except (OSError, TimeoutError):
        return False
    writer.close()
    return b" 200 " in status


def reachability_note(reachable: bool) -> None:
    """Have the pages say whether the embedded model answers."""
    endpoint_reachability_set(slug=EMBEDDED_SLUG, reachable=reachable)


def local_host() -> str:
    """Where this machine reaches its own web server: a server on every address is reached on loopback."""
    host: str = settings.HOST
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def announce(supervisor: Supervisor, link: str) -> None:
    """Print what a person needs now: address, first login, where the data lies, how to stop."""
    lines = [f"Tourney {settings.VERSION} is ready: {settings.PUBLIC_URL}"]
    if link:
        lines += ["", "Log in without a password (works once, for the administrator):", link]
    lines += ["", f"Data:  {settings.VAR}", "Stop:  Ctrl-C"]
    width = max(map(len, lines))
    supervisor.say("┌" + "─" * (width + 2) + "┐")
    for line in lines:
        supervisor.say(f"│ {line:<{width}} │")
    supervisor.say("└" + "─" * (width + 2) + "┘")
