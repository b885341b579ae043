"""The engine room from a terminal."""

import os
from argparse import ArgumentParser
from math import inf
from typing import IO, Any, cast

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from providers.engines import engine_room
from providers.engines.configs import architecture_of
from providers.engines.gpus import NoGpu, gpus_here
from providers.engines.keeper import Ways
from providers.engines.packing import Gpu
from providers.engines.plan_shown import packing_shown, verdicts_table
from providers.engines.planner import BITS, Way
from providers.engines.plans import memory_of_this_machine, plan_of
from providers.engines.services import engine_create, engine_desired_set
from providers.engines.states import Wanted
from providers.engines.vllm import LOOPBACK
from providers.models import Engine
from providers.secret_names import OF_ENGINES
from providers.selectors import key_variables

WANTED = {"wake": Wanted.AWAKE, "sleep": Wanted.ASLEEP, "stop": Wanted.STOPPED}


class Command(BaseCommand):
    help = "What fits on a GPU, and the engines that we run."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="plan|add|run|list|wake|sleep|stop")
        verbs.add_parser("run", help="start and look after the engines of this machine; watch those of others")
        verbs.add_parser("list", help="say how the engines are")
        add = verbs.add_parser("add", help="make an engine, with its endpoint and its model")
        add.add_argument("slug")
        add.add_argument("model", help="a folder, a hub id, or the hub id of a model in MODELS")
        add.add_argument("--port", type=int, required=True)
        add.add_argument("--host", default=LOOPBACK, help="of another machine: it is only watched")
        add.add_argument("--revision", default="", help="commit of a hub id")
        add.add_argument("--dtype", choices=Engine.Dtype.values, default="auto")
        add.add_argument("--share", type=float, dest="memory_share", help="of a GPU's memory, as `plan` proposes it")
        add.add_argument("--context", type=int)
        add.add_argument("--quantization", choices=[one for one in Engine.Quantization.values if one], default="")
        add.add_argument("--gpus", default="", help="as 0 or 0,1")
        add.add_argument("--tensor-parallel", type=int, default=1)
        add.add_argument("--sleep-level", type=int, choices=Engine.SleepLevel.values, default=1)
        add.add_argument("--desired", choices=Engine.Desired.values, default="awake")
        add.add_argument(
            "--argument",
            action="append",
            default=[],
            dest="extra_arguments",
            metavar="=--NAME",
            help="one more argument for vLLM; again for each, its value too",
        )
        for verb, words in (("wake", "start or wake"), ("sleep", "put to sleep"), ("stop", "stop")):
            verbs.add_parser(verb, help=f"{words} engines").add_argument("slug", nargs="+")
        plan = verbs.add_parser("plan", help="say which models fit, and how to share the GPUs")
        plan.add_argument("--models", nargs="+", required=True, help="folders, hub ids, known names, or sizes like 7b")
        plan.add_argument("--memory-limit", type=float, action="append", metavar="GIB", help="of a GPU; once for each")
        plan.add_argument("--context", type=int, help="tokens of a conversation; by default the longest of each model")
        plan.add_argument("--concurrency", type=int, default=1, help="such conversations at once")
        plan.add_argument("--requests", type=int, help="answered at once at most, vLLM's --max-num-seqs")
        plan.add_argument("--quantization", choices=sorted(BITS), default="")
        plan.add_argument("--tensor-parallel", type=int, default=1, help="GPUs that one model is cut over")
        plan.add_argument("--fp8-cache", action="store_true", help="keep keys and values in 8 bits")
        plan.add_argument("--eager", action="store_true", help="without CUDA graphs (--enforce-eager)")
        plan.add_argument("--host-memory", type=float, metavar="GIB", help="for the weights of sleepers")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["verb"]:
            case "plan":
                self.plan(options)
            case "run":
                self.run_them()
            case "list":
                self.list_them()
            case "add":
                self.add(options)
            case verb:
                self.want(options["slug"], WANTED[verb])

    def run_them(self) -> None:
        for name in key_variables().difference(OF_ENGINES):  # whatever it is called, no engine inherits it
            os.environ.pop(name, None)
        ways = Ways(
            folder=settings.VAR / "engines",
            python=settings.ENGINE_PYTHON,
            start_seconds=settings.ENGINE_START_SECONDS,
            drain_seconds=settings.ENGINE_DRAIN_SECONDS,
            is_offline=settings.MODELS_OFFLINE,
        )
        try:
            engine_room.run(ways)
        except engine_room.AlreadyRunning as error:
            raise CommandError(str(error)) from None

    def add(self, options: dict[str, Any]) -> None:
        names = ("slug", "model", "port", "memory_share", "context", "quantization", "gpus", "tensor_parallel",
                 "sleep_level", "desired", "extra_arguments", "host", "revision", "dtype")  # fmt: skip
        fields = {name: options[name] for name in names}
        folder = settings.MODELS / fields["model"].replace("/", "--")
        if fields["host"] == LOOPBACK and folder.is_dir():
            fields["model"] = str(folder)
        try:
            engine = engine_create(**fields)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        does = "starts" if engine.spec.is_ours else "watches"
        self.stdout.write(f"{engine.slug} is there; manage.py engines run {does} it.")

    def list_them(self) -> None:
        table = Table("engine", "model", "state", "why", "wanted", "running", "waiting", "cache")
        for one in Engine.objects.all():
            why = one.reason if one.is_watched else "nobody looks after it: start manage.py engines run"
            cache = "" if one.cache_tokens is None else f"{one.cache_used:.0%} of {one.cache_tokens:,}"
            table.add_row(one.slug, one.model, one.state, why, one.desired, str(one.running), str(one.waiting), cache)
        Console(file=cast(IO[str], self.stdout)).print(table)

    def want(self, slugs: list[str], wanted: Wanted) -> None:
        engines = list(Engine.objects.filter(slug__in=slugs))
        if missing := set(slugs) - {engine.slug for engine in engines}:
            raise CommandError(f"There is no engine {', '.join(sorted(missing))}.")
        for engine in engines:
            engine_desired_set(engine=engine, desired=wanted)

    def plan(self, options: dict[str, Any]) -> None:
        gpus = _gpus(options["memory_limit"])
        wanted = Way(
            context=options["context"],
            concurrency=options["concurrency"],
            quantization=options["quantization"],
            kv_bytes=1 if options["fp8_cache"] else 0,
            tensor_parallel=options["tensor_parallel"],
            eager=options["eager"],
            sequences=options["requests"],
        )
        asked = (wanted.concurrency, wanted.tensor_parallel, wanted.context, wanted.sequences)
        if any(one is not None and one < 1 for one in asked):
            raise CommandError("Context, concurrency, requests and tensor parallel size are at least 1.")
        try:
            models = {name: architecture_of(name, (settings.MODELS,)) for name in options["models"]}
        except ValueError as error:
            raise CommandError(str(error)) from None
        console = Console(file=cast(IO[str], self.stdout))
        # By default this machine's, where the GPUs are this machine's, too.
        here = 0 if options["memory_limit"] else memory_of_this_machine()
        host_memory = here if options["host_memory"] is None else options["host_memory"]
        plan = plan_of(models, gpus, wanted, host_memory_gib=host_memory)
        console.print(verdicts_table(plan.verdicts))
        if len(models) == 1:
            return
        for one in plan.sharings:
            way = one.wanted
            console.print(
                f"\n[bold]Together, {one.title.lower()}[/bold], context {way.context:,}, {way.concurrency} at once"
            )
            console.print(packing_shown(one.packing, gpus))


def _gpus(given: list[float] | None) -> list[Gpu]:
    if given:
        if not all(0 < one < inf for one in given):
            raise CommandError("The memory of a GPU is more than 0 GiB.")
        return [Gpu(index, "given", memory) for index, memory in enumerate(given)]
    try:
        return gpus_here(settings.VAR / "engines")
    except NoGpu as error:
        raise CommandError(f"{error}. For example: --memory-limit 24") from None
