"""Which engines of one machine may be awake together, and who must make room. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from providers.engines.states import State, Wanted

SHARE_UNSAID = 0.92  # vLLM's own default of --gpu-memory-utilization
SHARE_MOST = 0.97  # of a GPU; the rest is for the driver and for those that sleep
AWAKE_AT_LEAST_SECONDS = 15.0  # so that those who waited for it get their answers
IN_MEMORY = frozenset({State.STARTING, State.READY, State.DRAINING, State.WAKING})


@dataclass(frozen=True)
class Sharer:
    """An engine of ours. `gpus` is empty where it may use all; `wanted_at` is when somebody last asked for it,
    `state_since` when it came into its state, on the clock that `decide` is told."""

    slug: str
    gpus: frozenset[int]
    share: float | None
    wanted: Wanted
    wanted_at: datetime
    state: State
    state_since: float


@dataclass(frozen=True)
class Decision:
    """What each engine is to do now, and which of those that are wanted awake must sleep until they are asked again."""

    wanted: Mapping[str, Wanted]
    displaced: frozenset[str]


def decide(sharers: Sequence[Sharer], now: float) -> Decision:
    """Those that were asked for last come first; one that does not fit beside them goes to sleep, and whoever needs its
    memory waits until it does."""
    wanted = {one.slug: one.wanted for one in sharers}
    chosen: list[Sharer] = []
    for one in sorted((one for one in sharers if one.wanted is Wanted.AWAKE), key=lambda one: _rank(one, now)):
        if _fits(one, chosen):
            chosen.append(one)
        else:
            wanted[one.slug] = Wanted.ASLEEP
    displaced = frozenset(one.slug for one in sharers if one.wanted is not wanted[one.slug])
    inside = [one for one in sharers if one.state in IN_MEMORY]
    for one in chosen:
        if one.state not in IN_MEMORY:
            if _fits(one, inside):
                inside.append(one)
            else:
                wanted[one.slug] = Wanted.ASLEEP  # not yet
    return Decision(wanted, displaced)


def _rank(one: Sharer, now: float) -> tuple[bool, float, str]:
    is_fresh = one.state is State.READY and now - one.state_since < AWAKE_AT_LEAST_SECONDS
    return not is_fresh and one.state is not State.WAKING, -one.wanted_at.timestamp(), one.slug


def _fits(one: Sharer, others: Sequence[Sharer]) -> bool:
    beside = [other for other in others if other.slug != one.slug and _meet(one, other)]
    # Of all that it meets, as if they met on one GPU: rather too careful than out of memory.
    return sum(map(_share, beside)) + _share(one) <= SHARE_MOST + 1e-9 or not beside


def _meet(one: Sharer, other: Sharer) -> bool:
    return not one.gpus or not other.gpus or bool(one.gpus & other.gpus)


def _share(one: Sharer) -> float:
    return SHARE_UNSAID if one.share is None else one.share
