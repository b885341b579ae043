"""A large log: `python -m benchmarks.turns [--turns 1000000]` (200,000 without the option).

A database of its own (SQLite in a temporary folder, or DATABASE_URL) gets an experiment of so many turns. Timed are the
export in each format, with the most memory that it took over what was there before, and the pages of the experiment.
"""

import argparse
import os
import resource
import tempfile
import time

os.environ.setdefault("TOURNEY_VAR", tempfile.mkdtemp(prefix="tourney-turns-"))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.models import User  # noqa: E402
from conversations.experiments import services  # noqa: E402
from conversations.experiments.export import FORMATS  # noqa: E402
from conversations.experiments.selectors import experiment_counts  # noqa: E402
from conversations.models import Agent, Conversation, Experiment, Turn  # noqa: E402
from conversations.services import scenarios_seed  # noqa: E402
from tests import factories  # noqa: E402

TURNS, PATTERNS = 10, 5
NEW_ID = {"sqlite": "lower(hex(randomblob(16)))", "postgresql": "gen_random_uuid()"}
WORDS = "We could meet half-way, if you tell me what you would give up for it and why. " * 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--formats", nargs="*", default=["jsonl", "csv", "parquet"], help="none: only the pages")
    asked = parser.parse_args()
    call_command("migrate", verbosity=0)
    scenarios_seed()
    call_command("collectstatic", interactive=False, verbosity=0)
    settings.ALLOWED_HOSTS.append("testserver")
    owner = User.objects.create(username=f"benchmark-{time.time_ns()}")
    began = time.perf_counter()
    experiment = seeded(owner, asked.turns)
    counts = experiment_counts(experiment)
    print(f"{counts['turns']:,} turns of {counts['conversations']:,} conversations seeded in", end=" ")
    print(f"{time.perf_counter() - began:.0f} s; database {connection.vendor}")
    for name in asked.formats:
        _export(experiment, name, counts["turns"])
    client = Client()
    client.force_login(owner)
    page = f"/conversations/experiments/{experiment.pk}/"
    for what, query in (
        ("progress", ""), ("progress again", ""), ("analyse", "analyse/"),
        ("tokens by scenario", "analyse/?measure=output_tokens&by=scenario"),
        ("refusals by turn", "analyse/?measure=refusals&by=turn"),
        ("length by model in one scenario", "analyse/?measure=length&by=model&scenario=fractions"),
    ):  # fmt: skip
        began, cpu = time.perf_counter(), time.process_time()
        answer = client.get(page + query)
        assert answer.status_code == 200, answer.status_code
        print(f"{what}: {time.perf_counter() - began:.2f} s, {time.process_time() - cpu:.2f} s of CPU")


def _export(experiment: Experiment, name: str, turns: int) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu, size = time.perf_counter(), time.process_time(), 0
    for piece in FORMATS[name].write(experiment):
        size += len(piece)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    print(
        f"{name}: {took:.1f} s, {cpu:.1f} s of CPU, {turns / cpu:,.0f} turns a CPU-second, {size / 1e6:.0f} MB, "
        f"{grown:.0f} MB of memory grown, load {os.getloadavg()[0]:.1f}"
    )


def seeded(owner: User, turns: int) -> Experiment:
    """An experiment of about so many turns: some conversations made one by one, and copied in the database."""
    endpoint = factories.endpoint(f"turns-{time.time_ns()}")
    models = [factories.language_model(f"speaker-{at}-{time.time_ns()}", endpoint=endpoint) for at in range(2)]
    grid = {
        "name": "large", "models": [model.slug for model in models], "iterations": PATTERNS, "turns": TURNS,
        "scenarios": ["fractions", "night-bus", "the-new-colleague"],
    }  # fmt: skip
    made = services.experiment_create(owner=owner, given=grid)
    services.conversations_make(experiment=made)
    patterns = list(made.conversations.order_by("cell").prefetch_related("agents"))
    now = timezone.now()
    Turn.objects.bulk_create(
        Turn(
            conversation=one, position=number, number=number, speaker="ab"[(number + 1) % 2],
            model_id=one.agents.all()[(number + 1) % 2].model_id, text=WORDS[: 60 + (at * 7 + number * 13) % 240],
            status="finished", finish_reason="stop", latency_ms=400 + (at * 37 + number * 91) % 900,
            first_token_ms=40 + at, input_tokens=30 * number, output_tokens=20 + (at + number * 5) % 60,
            is_refusal=(at + number) % 17 == 0, sampling={"temperature": 0.7}, started_at=now, finished_at=now,
        )
        for at, one in enumerate(patterns)
        for number in range(1, TURNS + 1)
    )  # fmt: skip
    copies = max(0, round(turns / TURNS / len(patterns)) - 1)
    _multiply(made, len(patterns), copies)
    grid["iterations"] = PATTERNS * (copies + 1)
    Experiment.objects.filter(pk=made.pk).update(
        grid=made.grid | grid, turns_planned=len(patterns) * (copies + 1) * TURNS
    )
    made.conversations.update(state=Conversation.State.ENDED, reason=Conversation.Reason.MAX_TURNS)
    made.refresh_from_db()
    return made


def _multiply(experiment: Experiment, patterns: int, copies: int) -> None:
    pk = experiment.pk.hex if connection.vendor == "sqlite" else str(experiment.pk)
    new, base = Conversation._meta.db_table, "base.experiment_id = %s AND base.cell < %s"
    numbers = f"WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < {max(copies, 1)}) "
    cells = {
        "id": NEW_ID[connection.vendor], "cell": f"base.cell + k.n * {patterns}",
        "iteration": f"base.iteration + k.n * {PATTERNS}",
    }  # fmt: skip
    copied = f"FROM {new} copy JOIN {new} base ON base.experiment_id = copy.experiment_id "
    copied += f"AND base.cell = copy.cell %% {patterns} AND {base} AND copy.cell >= {patterns} "
    with connection.cursor() as cursor:
        if not copies:
            return
        columns, values = _columns(Conversation, "base", cells)
        cursor.execute(
            f"{numbers}INSERT INTO {new} ({columns}) SELECT {values} FROM {new} base, k WHERE {base}"
            if connection.vendor == "sqlite"
            else f"INSERT INTO {new} ({columns}) {numbers}SELECT {values} FROM {new} base, k WHERE {base}",
            [pk, patterns],
        )
        for model, own in ((Agent, {}), (Turn, {"id": NEW_ID[connection.vendor]})):
            columns, values = _columns(model, "part", own | {"conversation_id": "copy.id"})
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {values} {copied}"
                f"JOIN {model._meta.db_table} part ON part.conversation_id = base.id",
                [pk, patterns],
            )
        cursor.execute("ANALYZE")


def _columns(model: type[Model], source: str, own: dict[str, str]) -> tuple[str, str]:
    """The columns to fill, and with what; a number of its own is left to the database."""
    names = [field.column or field.name for field in model._meta.concrete_fields]
    names = [name for name in names if name != "id" or "id" in own]
    return ", ".join(f'"{name}"' for name in names), ", ".join(own.get(n, f'{source}."{n}"') for n in names)


if __name__ == "__main__":
    main()
