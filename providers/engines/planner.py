"""Will this model fit on this GPU? Weights, the cache of keys and values (KV cache), and what vLLM takes beside them.

Pure: no Django, no GPU, no network. `fit` is the one question most callers have; `packing.py` asks it for several
models on several GPUs. Memory is in bytes where nothing else is said; a "6 GB" card has 6 GiB. Weights and cache are
counted, layers of a kind that we do not know as if they kept every token; what vLLM takes beside them is an estimate
from its source, meant to err on the safe side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from providers.engines.architecture import BYTES, Architecture

GIB = 2**30
# Bits of a parameter in a linear layer. AWQ and GPTQ keep a 16-bit scale and a zero of their own bits for each group of
# 128 (arXiv:2306.00978, arXiv:2210.17323), bitsandbytes' NF4 a 32-bit scale for each block of 64 (arXiv:2305.14314).
BITS = {"awq": 4 + 20 / 128, "gptq": 4 + 20 / 128, "bitsandbytes": 4 + 32 / 64, "fp8": 8.0, "int8": 8 + 16 / 128}
FOUR_BIT = "bitsandbytes"  # needs no checkpoint of its own: vLLM shrinks the weights while it loads
MOST_SHARE = 0.92  # of a GPU's memory that engines may take together; vLLM's own default for one
CUDA_CONTEXT = GIB // 2  # driver, kernels and NCCL's buffers, which no cut of the model makes smaller
CUDA_GRAPHS = GIB // 3  # what vLLM records for decoding; none with --enforce-eager
# GPUs of at least so many GiB: how many tokens one step reads at most (--max-num-batched-tokens), and how many requests
# it samples (--max-num-seqs), each with a row of 32-bit scores over the vocabulary. vLLM's own defaults as a server
# (EngineArgs.get_batch_defaults in 0.32; an A100 with 80 GB has those of the small).
STEPS = ((160, 16_384, 1024), (70, 8192, 1024), (0, 2048, 256))
BLOCK_TOKENS = 16  # the cache is given out in blocks of so many
STEPS_AT_ONCE = 2  # one is computed while the next is prepared (vLLM's asynchronous scheduling, its default)
SHORTEST_CONTEXT = 1024  # less is no conversation
USEFUL_CONTEXT = 4096  # down to here a shorter context is better than fewer bits


@dataclass(frozen=True)
class Way:
    """How a model should run. A `context` of None is the longest it was made for; `concurrency` is how many
    conversations of that length fit into the cache at once, and shorter ones share it."""

    context: int | None = None
    concurrency: int = 1
    quantization: str = ""  # one of BITS; empty for the checkpoint's own
    dtype: str = ""  # empty for the checkpoint's own
    kv_bytes: int = 0  # of one cached value; 0 for the dtype's, 1 for an fp8 cache
    tensor_parallel: int = 1
    eager: bool = False  # --enforce-eager
    batched_tokens: int | None = None  # None for vLLM's own on a GPU of that size, as for the next
    sequences: int | None = None


@dataclass(frozen=True)
class Need:
    """Bytes on each GPU, and the context that they are for."""

    weights: int
    cache: int
    overhead: int
    context: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.overhead


class Answer(StrEnum):
    FITS = "fits"
    FOUR_BIT = "fits with 4-bit"
    CONTEXT = "fits with context"
    BOTH = "fits with 4-bit and context"
    NO = "does not fit"


@dataclass(frozen=True)
class Verdict:
    """`need` and `wanted` are of the way in which it fits; of the smallest way that was tried where it does not."""

    answer: Answer
    wanted: Way
    need: Need
    memory: int  # bytes that were at hand on each GPU
    obstacle: str = ""  # why it does not fit, where it is not for its size

    @property
    def fits(self) -> bool:
        return self.answer is not Answer.NO

    @property
    def sentence(self) -> str:
        """In words: "fits", "fits with 4-bit", "fits with context 4,096", "does not fit: ..."."""
        if self.obstacle:
            return f"does not fit: {self.obstacle}"
        if self.answer is Answer.NO:
            return f"does not fit: needs {self.need.total / GIB:.1f} GiB of {self.memory / GIB:.1f}"
        ending = f" {self.need.context:,}" if self.answer in (Answer.CONTEXT, Answer.BOTH) else ""
        return f"{self.answer.value}{ending}"


def fit(model: Architecture, memory_gib: float, wanted: Way | None = None, *, share: float = MOST_SHARE) -> Verdict:
    """Whether `model` fits into `share` of a GPU's memory as it is wanted, and if not, what would make it fit.

    Where no context is asked for, a shorter one (of at least 4,096 tokens) is offered before 4 bits; where one is, 4
    bits come first. `memory_gib` is of one GPU; all of `wanted.tensor_parallel` are alike.
    """
    _least, batched, sequences = next(step for step in STEPS if memory_gib >= step[0])
    wanted = wanted or Way()
    wanted = replace(wanted, batched_tokens=wanted.batched_tokens or batched, sequences=wanted.sequences or sequences)
    memory = int(memory_gib * GIB * share)
    smallest: tuple[Way, Need] | None = None
    for answer, way in _ways(model, wanted):
        need = need_of(model, way)
        if need.total <= memory:
            return Verdict(answer, way, need, memory)
        if smallest is None or need.total < smallest[1].total:
            smallest = way, need
    assert smallest is not None
    return Verdict(Answer.NO, *smallest, memory)


def need_of(model: Architecture, wanted: Way) -> Need:
    """Bytes that the model takes on each of its GPUs when it runs as wanted. Raises ValueError for what is unknown."""
    if wanted.quantization and wanted.quantization not in BITS:
        raise ValueError(f"unknown quantization {wanted.quantization!r}: one of {', '.join(BITS)}")
    context = min(wanted.context or model.context, model.context)
    return Need(
        weights=_weights(model, wanted),
        cache=cache_bytes(model, wanted, context) * wanted.concurrency,
        overhead=_overhead(model, wanted),
        context=context,
    )


def cache_bytes(model: Architecture, wanted: Way, context: int) -> int:
    """Bytes of keys and values, on each GPU, that vLLM keeps for one conversation of `context` tokens.

    A layer with a window keeps the tokens before a step that are still in it and those of all steps under way, and one
    block more, for a window may begin within one (SlidingWindowSpec in vLLM's kv_cache_interface.py).
    """
    full = _blocks(context)
    windowed = full
    if model.window:
        step = wanted.batched_tokens or STEPS[-1][1]
        windowed = _blocks(min(model.window - 1 + STEPS_AT_ONCE * step, context)) + BLOCK_TOKENS
    return (model.full_layers * full + model.window_layers * windowed) * _token_bytes(model, wanted)


def tokens_in(model: Architecture, wanted: Way, room: int) -> int:
    """How many tokens a cache of `room` bytes holds, were all attention full: what vLLM logs as "GPU KV cache size"."""
    layers = model.full_layers + model.window_layers
    return room // max(1, layers * BLOCK_TOKENS * _token_bytes(model, wanted)) * BLOCK_TOKENS


def _blocks(tokens: int) -> int:
    """So many tokens, in whole blocks."""
    return -(-tokens // BLOCK_TOKENS) * BLOCK_TOKENS


def _token_bytes(model: Architecture, wanted: Way) -> int:
    """Of one layer, on each GPU. Every GPU holds MLA's latent whole; other caches are cut by heads, and a GPU holds one
    head at least."""
    cut = min(wanted.tensor_parallel, model.kv_heads)
    return -(-model.kv_values // cut) * (wanted.kv_bytes or _dtype_bytes(model, wanted))


def _weights(model: Architecture, wanted: Way) -> int:
    dtype = _dtype_bytes(model, wanted)
    bits = BITS.get(model.quantization or wanted.quantization, dtype * 8)  # what is quantized is not quantized again
    return int(model.linear * bits / 8 + model.other * dtype) // wanted.tensor_parallel


def _overhead(model: Architecture, wanted: Way) -> int:
    """What the largest step needs: inputs and outputs of the widest layer, and the scores of the sampler."""
    _least, batched, sequences = STEPS[-1]
    tokens = wanted.batched_tokens or batched
    layer = tokens * (4 * model.hidden + 2 * model.intermediate // wanted.tensor_parallel) * 2
    scores = (wanted.sequences or sequences) * model.vocabulary * 4
    return CUDA_CONTEXT + (0 if wanted.eager else CUDA_GRAPHS) + layer + 2 * scores


def _dtype_bytes(model: Architecture, wanted: Way) -> int:
    return BYTES.get(wanted.dtype or model.dtype, 2)


def _ways(model: Architecture, wanted: Way) -> Iterator[tuple[Answer, Way]]:
    """As wanted first, then what hurts more and more."""
    longest = min(wanted.context or model.context, model.context)
    shorter = [2**power for power in range(30, 9, -1) if SHORTEST_CONTEXT <= 2**power < longest]
    useful = [context for context in shorter if context >= USEFUL_CONTEXT]
    can_shrink = not (model.quantization or wanted.quantization)
    small = replace(wanted, quantization=FOUR_BIT)
    four_bit = [(Answer.FOUR_BIT, small)] if can_shrink else []
    with_less = _cut(Answer.CONTEXT, wanted, useful)
    yield Answer.FITS, wanted
    yield from chain(with_less, four_bit) if wanted.context is None else chain(four_bit, with_less)
    for contexts in (useful, [context for context in shorter if context < USEFUL_CONTEXT]):
        yield from _cut(Answer.CONTEXT, wanted, contexts)
        yield from _cut(Answer.BOTH, small, contexts if can_shrink else [])


def _cut(answer: Answer, way: Way, contexts: Sequence[int]) -> list[tuple[Answer, Way]]:
    return [(answer, replace(way, context=context)) for context in contexts]
