"""Which models go on which GPU, with which share of its memory, and who sleeps when they do not fit together. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from providers.engines.architecture import Architecture
from providers.engines.planner import CUDA_CONTEXT, CUDA_GRAPHS, GIB, MOST_SHARE, Answer, Verdict, Way, fit

SLEEPING = CUDA_CONTEXT + CUDA_GRAPHS  # bytes of its GPU that a sleeping engine keeps


@dataclass(frozen=True)
class Gpu:
    index: int
    name: str
    memory_gib: float


@dataclass(frozen=True)
class Placed:
    """A model on its GPUs. `share` is vLLM's --gpu-memory-utilization; models of one GPU with different `turn`s are
    never awake together; 0 is always awake."""

    name: str
    gpus: tuple[int, ...]
    share: float
    turn: int
    verdict: Verdict


@dataclass(frozen=True)
class Packing:
    placed: tuple[Placed, ...]
    left_out: tuple[tuple[str, Verdict], ...]
    sleep_level: int  # 1 keeps sleeping weights in the host's memory and wakes in seconds, 2 reads them from disk again

    @property
    def takes_turns(self) -> bool:
        return any(one.turn for one in self.placed)


def pack(models: Mapping[str, tuple[Architecture, Way]], gpus: Sequence[Gpu], *, host_memory_gib: float = 0) -> Packing:
    """Place every model, the largest first, on the GPU that is least full; what fits on no single one is cut over
    2, 4, ... of them. Models that do not fit on their GPU together take turns there."""
    verdicts = {name: _smallest_cut(model, wanted, gpus) for name, (model, wanted) in models.items()}
    whole = {name: verdict.need.total * verdict.wanted.tensor_parallel for name, verdict in verdicts.items()}
    load = {gpu.index: 0 for gpu in gpus}
    at: dict[tuple[int, ...], list[str]] = {}
    for name in sorted(models, key=lambda name: (-whole[name], name)):
        verdict = verdicts[name]
        enough = [gpu for gpu in gpus if verdict.need.total <= gpu.memory_gib * GIB * MOST_SHARE]
        count = verdict.wanted.tensor_parallel
        if verdict.fits:
            emptiest = sorted(enough, key=lambda gpu: (load[gpu.index] - gpu.memory_gib * GIB, gpu.index))[:count]
            for gpu in emptiest:
                load[gpu.index] += verdict.need.total
            at.setdefault(tuple(sorted(gpu.index for gpu in emptiest)), []).append(name)
    memory = {gpu.index: gpu.memory_gib * GIB for gpu in gpus}
    placed = [
        Placed(name, where, _share(verdicts[name].need.total, min(memory[index] for index in where)), 0, verdicts[name])
        for where, names in at.items()
        for name in names
    ]
    placed = _with_turns(placed, memory, models)
    verdicts |= {one.name: one.verdict for one in placed}
    placed = [one for one in placed if one.verdict.fits]
    asleep = sum(one.verdict.need.weights * len(one.gpus) for one in placed if one.turn)
    left_out = tuple((name, verdict) for name, verdict in verdicts.items() if name not in {one.name for one in placed})
    return Packing(tuple(placed), left_out, 1 if asleep <= host_memory_gib * GIB * 0.8 else 2)


def fit_on(model: Architecture, wanted: Way, gpus: Sequence[Gpu]) -> Verdict:
    """`fit` on as many of the GPUs as it is to be cut over: on the largest, of which the smallest decides."""
    sizes = sorted((gpu.memory_gib for gpu in gpus), reverse=True)
    cut, obstacle = wanted.tensor_parallel, ""
    if cut > len(sizes):
        obstacle = f"it is to be cut over {cut} GPUs, and there {'is' if len(sizes) == 1 else 'are'} {len(sizes)}"
    elif not model.can_be_cut(cut):
        obstacle = f"its {model.heads} heads, {model.kv_heads} of keys, cannot be dealt out evenly to {cut} GPUs"
    verdict = fit(model, sizes[min(cut, len(sizes)) - 1] if sizes else 0, wanted)
    return replace(verdict, answer=Answer.NO, obstacle=obstacle) if obstacle else verdict


def _smallest_cut(model: Architecture, wanted: Way, gpus: Sequence[Gpu]) -> Verdict:
    """The verdict on as few GPUs as it fits on as wanted, or on as few as it fits on at all; else where it needs least
    of each."""
    least = wanted.tensor_parallel
    cuts = [least, *(2**power for power in range(5) if least < 2**power <= len(gpus))]
    verdicts = [fit_on(model, replace(wanted, tensor_parallel=cut), gpus) for cut in cuts]
    as_wanted = (one for one in verdicts if one.answer is Answer.FITS)
    fitting = (one for one in verdicts if one.fits)
    possible = [one for one in verdicts if not one.obstacle]
    return next(as_wanted, None) or next(fitting, None) or (possible or verdicts)[-1]


def _share(size: float, memory: float) -> float:
    return math.ceil(size / memory * 100) / 100


def _with_turns(
    placed: Sequence[Placed], memory: Mapping[int, float], models: Mapping[str, tuple[Architecture, Way]]
) -> list[Placed]:
    """First fit, the largest first: a turn takes what fits beside it while all others of the GPU sleep. What does not
    fit beside the sleepers as it was wanted is made smaller."""
    result: list[Placed] = []
    crowded = {index for index in memory if sum(one.share for one in placed if index in one.gpus) > MOST_SHARE}
    turns: list[dict[int, float]] = []  # of each turn, the shares that are taken on each GPU
    for one in placed:
        mine = [index for index in one.gpus if index in crowded]
        if not mine:
            result.append(one)
            continue
        room = {i: MOST_SHARE - SLEEPING / memory[i] * (sum(i in other.gpus for other in placed) - 1) for i in mine}
        least, size = min(room.values()), min(memory[index] for index in mine)
        if one.share > least:
            verdict = fit(models[one.name][0], size / GIB, one.verdict.wanted, share=least)
            one = replace(one, verdict=verdict, share=_share(verdict.need.total, size))
        beside = (
            number
            for number, taken in enumerate(turns)
            if all(taken.get(index, 0) + one.share <= room[index] for index in mine)
        )
        number = next(beside, len(turns))
        if number == len(turns):
            turns.append({})
        for index in mine:
            turns[number][index] = turns[number].get(index, 0) + one.share
        result.append(replace(one, turn=number + 1))
    return result
