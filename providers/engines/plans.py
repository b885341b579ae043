"""The planner's whole answer for the models that somebody chose: what each needs, how to share the GPUs, and which
engines a way of sharing stands for. No Django and no GPU: terminal and page show the same plan."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from providers.engines.architecture import Architecture
from providers.engines.packing import Gpu, Packing, Placed, fit_on, pack
from providers.engines.planner import FOUR_BIT, GIB, Verdict, Way
from providers.engines.states import Wanted

PACKED_CONTEXT = 8192  # where nothing else is said: packing for the longest context would leave room for nobody else
CHECKPOINTS = {"awq": "AWQ", "gptq": "GPTQ"}  # quantizations that vLLM reads and does not make


@dataclass(frozen=True)
class Sharing:
    """One way to put the models on the GPUs."""

    title: str
    wanted: Way
    packing: Packing


@dataclass(frozen=True)
class Plan:
    verdicts: Mapping[str, tuple[Architecture, Verdict]]
    sharings: tuple[Sharing, ...]  # as asked, and in 4 bits where that may do better


def plan_of(
    models: Mapping[str, Architecture], gpus: Sequence[Gpu], wanted: Way, *, host_memory_gib: float = 0
) -> Plan:
    """Of one GPU at least. `host_memory_gib` is for the weights of those that sleep."""
    verdicts = {name: (model, fit_on(model, wanted, gpus)) for name, model in models.items()}
    asked = wanted if wanted.context or len(models) == 1 else replace(wanted, context=PACKED_CONTEXT)
    ways = {"As asked": asked}
    if not wanted.quantization and len(models) > 1:
        ways["In 4 bits"] = replace(asked, quantization=FOUR_BIT)
    sharings = []
    for title, way in ways.items():
        packing = pack({name: (model, way) for name, model in models.items()}, gpus, host_memory_gib=host_memory_gib)
        sharings.append(Sharing(title, way, packing))
        if not packing.takes_turns and not packing.left_out:
            break
    return Plan(verdicts, tuple(sharings))


def turns_in_words(packing: Packing) -> str:
    """What it means that models take turns; empty where none does."""
    if not packing.takes_turns:
        return ""
    how = "in the host's memory" if packing.sleep_level == 1 else "on disk only"
    return (
        "They do not fit together: models of different turns are never awake at once. Those that sleep keep their "
        f"weights {how} (sleep level {packing.sleep_level}), and a battle waits while one wakes."
    )


def obstacle_to(placed: Placed, model: Architecture) -> str:
    """Why vLLM could not run it like this, in words; empty where it can."""
    quantization = placed.verdict.wanted.quantization
    if quantization in CHECKPOINTS and not model.quantization:
        name = CHECKPOINTS[quantization]
        return f"It is not stored in {name}. Choose a checkpoint that is, or bitsandbytes, which shrinks any."
    if quantization == "int8" and not model.quantization:
        return "vLLM does not make 8-bit integers while it loads. Choose fp8 or bitsandbytes."
    return ""


def engine_fields(placed: Placed, sharing: Sharing, model: Architecture) -> dict[str, Any]:
    """What an engine is made with so that it runs as it was placed; its name, its model and its address are missing."""
    wanted, packing = placed.verdict.wanted, sharing.packing
    arguments = ["--enforce-eager"] if wanted.eager else []
    if wanted.kv_bytes == 1:
        arguments += ["--kv-cache-dtype", "fp8"]
    if sharing.wanted.sequences:
        arguments += ["--max-num-seqs", str(sharing.wanted.sequences)]
    return {
        "memory_share": placed.share,
        "context": placed.verdict.need.context,
        "quantization": "" if model.quantization else wanted.quantization,
        "tensor_parallel": wanted.tensor_parallel,
        "gpus": ",".join(map(str, placed.gpus)),
        "sleep_level": packing.sleep_level if packing.takes_turns else 1,
        "desired": Wanted.AWAKE.value if placed.turn <= 1 else Wanted.ASLEEP.value,
        "extra_arguments": arguments,
    }


def memory_of_this_machine() -> float:
    """GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
