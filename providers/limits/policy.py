"""Who may ask an endpoint now: a window of streams that adapts, and buckets of requests and tokens a minute. Pure.

What is configured holds for the endpoint as a whole. What its refusals tell is kept for each model apart, since most
services limit each apart: the window grows by one with every answer while it is full (additive increase) and shrinks on
a refusal (multiplicative decrease), but never below what the upstream was serving at that moment. Where it was refused
is a wall, beyond which it only feels its way: one stream more after so many full windows of answers, and twice as many
after each time that this was refused.
Source: Chiu & Jain (1989), Analysis of the increase and decrease algorithms for congestion avoidance; the wall is the
plateau of Ha, Rhee & Xu (2008), CUBIC.

Whose turn it is: of people, and of batches, whoever came first. Where both wait, people get nine places in a row and a
batch the tenth, so that a batch delays nobody for long and is never starved.
"""

import math
from collections.abc import Iterator

import msgspec

from providers.adapters.base import Headroom, Limits, Priority

WINDOW_START = 32.0
WINDOW_MAX = 1024.0
DECREASE = 0.7
PROBE_WINDOWS_MAX = 32.0
# A refusal that names no time: twice as long after each further one, until something is accepted.
PAUSE_FIRST_SECONDS = 0.25
PAUSE_MAX_SECONDS = 15.0
# Upstreams that name a longer time are asked again after this one all the same: some name hours by mistake.
PAUSE_NAMED_MAX_SECONDS = 120.0
# So many seconds' worth of a minute's requests may go out at once.
BURST_SECONDS = 10.0
# A place whose holder has not said for so long that it lives is free again: its process is dead.
LEASE_SECONDS = 60.0
# Batches leave a tenth of the places free for so long after a person has asked.
PEOPLE_AROUND_SECONDS = 30.0
PEOPLE_SHARE = 0.1
# While both wait, a batch gets one place after so many that people got.
PEOPLE_IN_A_ROW = 9
# Whoever waits at the head of a process's line must ask at least so often, or others go first.
HEAD_SECONDS = 0.6
# Among processes, first come first served holds to within this time: a process that waits to be told of a free place
# would otherwise lose time that no other could use.
SLACK_SECONDS = 1.0
SOON_SECONDS = 0.25
# Of more models than so many, those that nobody asked for a while are forgotten.
WINDOWS_KEPT = 64
WINDOW_IDLE_SECONDS = 600.0


class Lease(msgspec.Struct):
    """One taken place."""

    until: float
    model: str = ""
    is_open: bool = False
    began: float = 0.0


class Window(msgspec.Struct):
    """What is known of one model's own limit."""

    size: float = WINDOW_START
    wall: float | None = None
    shrunk_at: float = 0.0
    answers: int = 0  # since the size last changed
    probe_windows: float = 1.0  # full windows of answers to the next probe
    refusals: int = 0  # in a row
    blocked_until: float = 0.0
    touched_at: float = 0.0
    requests_spent: float = 0.0
    requests_at: float = 0.0


class Head(msgspec.Struct):
    """Who is first in a process's line for a model; it must say so again and again."""

    process: str
    model: str
    priority: int
    since: float
    until: float
    is_held_by_model: bool  # by what is known of its model alone; else it waits for what all models share


class State(msgspec.Struct):
    """All that is known of one endpoint. Times are seconds of the store's clock: since the epoch where processes share
    them, so somebody may set it back."""

    windows: dict[str, Window] = {}
    leases: dict[str, Lease] = {}
    heads: dict[str, Head] = {}
    requests_spent: float = 0.0
    requests_at: float = 0.0
    tokens_spent: float = 0.0
    tokens_at: float = 0.0
    people_at: float = 0.0
    people_in_a_row: int = 0  # let in while a batch waited for the same

    def window(self, model: str) -> Window:
        return self.windows.setdefault(model, Window())

    def of(self, model: str) -> list[Lease]:
        return [lease for lease in self.leases.values() if lease.model == model]


class Request(msgspec.Struct, frozen=True):
    """Somebody at the head of a line. `tokens` is an estimate, made good by `settled`; `since` is when it came, and
    `next_since` when the one behind it did."""

    lease: str
    priority: Priority = Priority.INTERACTIVE
    tokens: float = 0.0
    process: str = ""
    since: float = 0.0
    next_since: float | None = None
    lease_seconds: float = LEASE_SECONDS


def places(state: State, limits: Limits) -> int:
    """How many streams of this model there may be at once."""
    ceiling = WINDOW_MAX if limits.streams is None else limits.streams
    return max(1, int(min(state.window(limits.model).size, ceiling)))


def shares(limits: Limits) -> bool:
    """Whether the models of the endpoint wait for one another."""
    return any((limits.streams, limits.requests_per_minute, limits.tokens_per_minute))


def admit(state: State, limits: Limits, request: Request, now: float) -> float:
    """Take a place, and return 0; else the seconds after which it is worth asking again."""
    _clock_mind(state, now)
    _forget_the_dead(state, now)
    window = state.window(limits.model)
    window.touched_at = now
    if request.priority is Priority.INTERACTIVE:
        state.people_at = now
    name = f"{request.process}:{limits.model}:{request.priority}"
    state.heads.pop(name, None)
    held_by_model = max(_wait_for_window(state, limits, request.priority, now), _wait_for_rate(window, limits, now))
    wait = max(
        held_by_model,
        _wait_for_stream(state, limits, request.priority, now),
        _wait_for_buckets(state, limits, request.tokens, now),
        _wait_for_turn(state, limits, request),
    )
    waiting_since = request.since if wait > 0 else request.next_since
    if waiting_since is not None:
        place = request.process, limits.model, request.priority
        state.heads[name] = Head(*place, waiting_since, now + HEAD_SECONDS, held_by_model > 0)
    if wait > 0:
        return wait
    if any(head.priority != request.priority for head in _rivals(state, limits)):
        state.people_in_a_row = state.people_in_a_row + 1 if request.priority is Priority.INTERACTIVE else 0
    state.leases[request.lease] = Lease(until=now + request.lease_seconds, model=limits.model, began=now)
    state.requests_spent += 1
    window.requests_spent += 1
    state.tokens_spent += request.tokens
    return 0.0


def _clock_mind(state: State, now: float) -> None:
    """Nothing lies further ahead than we ever put it; where the clock was set back, it would for that long."""
    for window in state.windows.values():
        window.blocked_until = min(window.blocked_until, now + PAUSE_NAMED_MAX_SECONDS)
    for held in state.leases.values():
        if math.isfinite(held.until):
            held.until = min(held.until, now + LEASE_SECONDS)
    for head in state.heads.values():
        head.until = min(head.until, now + HEAD_SECONDS)
    state.requests_at, state.tokens_at = min(state.requests_at, now), min(state.tokens_at, now)


def _forget_the_dead(state: State, now: float) -> None:
    for id in [id for id, held in state.leases.items() if held.until < now]:
        del state.leases[id]
    for name in [name for name, head in state.heads.items() if head.until < now]:
        del state.heads[name]
    if len(state.windows) > WINDOWS_KEPT:
        for model in [name for name, one in state.windows.items() if one.touched_at < now - WINDOW_IDLE_SECONDS]:
            del state.windows[model]


def _wait_for_window(state: State, limits: Limits, priority: Priority, now: float) -> float:
    window = state.window(limits.model)
    if now < window.blocked_until:
        return window.blocked_until - now
    return 0.0 if len(state.of(limits.model)) < _room(state, int(window.size), priority, now) else SOON_SECONDS


def _wait_for_rate(window: Window, limits: Limits, now: float) -> float:
    """The model's own bucket, beside the one that all models of the endpoint share."""
    if not limits.model_requests_per_minute:
        window.requests_spent = 0.0
        return 0.0
    rate = limits.model_requests_per_minute / 60
    window.requests_spent = max(0.0, window.requests_spent - (now - window.requests_at) * rate)
    window.requests_at = now
    return max(0.0, (window.requests_spent + 1 - max(1.0, rate * BURST_SECONDS)) / rate)


def _wait_for_stream(state: State, limits: Limits, priority: Priority, now: float) -> float:
    if limits.streams is None:
        return 0.0
    return 0.0 if len(state.leases) < _room(state, limits.streams, priority, now) else SOON_SECONDS


def _room(state: State, places: int, priority: Priority, now: float) -> int:
    """A batch leaves some to people who are around; not at its own turn, when it would keep people from them and not go
    itself."""
    people_are_around = now - state.people_at < PEOPLE_AROUND_SECONDS
    if priority is Priority.BATCH and people_are_around and places > 1 and state.people_in_a_row < PEOPLE_IN_A_ROW:
        return places - math.ceil(places * PEOPLE_SHARE)
    return places


def _wait_for_turn(state: State, limits: Limits, request: Request) -> float:
    """People go before batches, but for one after `PEOPLE_IN_A_ROW`; first come first served among equals: among
    processes to within `SLACK_SECONDS`."""
    goes_first = (request.priority is Priority.BATCH) == (state.people_in_a_row >= PEOPLE_IN_A_ROW)
    for head in _rivals(state, limits):
        if head.priority == request.priority:
            slack = 0.0 if head.process == request.process else SLACK_SECONDS
            if head.since < request.since - slack:
                return SOON_SECONDS
        elif not goes_first:
            return SOON_SECONDS
    return 0.0


def _rivals(state: State, limits: Limits) -> Iterator[Head]:
    """Who waits for the same: for this model, or for what all models of the endpoint share."""
    are_shared = shares(limits)
    for head in state.heads.values():
        if head.model == limits.model or (are_shared and not head.is_held_by_model):
            yield head


def _wait_for_buckets(state: State, limits: Limits, tokens: float, now: float) -> float:
    """Each bucket leaks at the rate of its limit; what is in it must stay below its size."""
    wait = 0.0
    if limits.requests_per_minute:
        rate = limits.requests_per_minute / 60
        state.requests_spent = max(0.0, state.requests_spent - (now - state.requests_at) * rate)
        state.requests_at = now
        wait = max(wait, (state.requests_spent + 1 - max(1.0, rate * BURST_SECONDS)) / rate)
    else:
        state.requests_spent = 0.0
    if limits.tokens_per_minute:
        rate = limits.tokens_per_minute / 60
        state.tokens_spent = max(0.0, state.tokens_spent - (now - state.tokens_at) * rate)
        state.tokens_at = now
        # What is larger than the whole bucket goes when the bucket is empty.
        wait = max(wait, (state.tokens_spent + min(tokens, limits.tokens_per_minute) - limits.tokens_per_minute) / rate)
    else:
        state.tokens_spent = 0.0
    return max(0.0, wait)


def opened(state: State, limits: Limits, lease: str, headroom: Headroom, now: float) -> None:
    """The upstream has accepted the request."""
    window = state.window(limits.model)
    if held := state.leases.get(lease):
        held.is_open = True
    window.refusals = 0
    mine = state.of(limits.model)
    if window.wall is not None and len(mine) > window.size:
        # The window shrank while this one was under way: more are served at once than it then seemed.
        accepted = float(sum(one.is_open for one in mine))
        if accepted > window.size:
            window.size = window.wall = accepted
    if headroom.reset and (headroom.requests == 0 or headroom.tokens == 0):
        window.blocked_until = max(window.blocked_until, now + min(headroom.reset, PAUSE_NAMED_MAX_SECONDS))


def refused(
    state: State, limits: Limits, lease: str, retry_after: float | None, now: float, tokens: float = 0.0
) -> None:
    """The upstream would not: give the place back, and the `tokens` that it was to take, and let fewer in."""
    state.tokens_spent = max(0.0, state.tokens_spent - tokens)
    window = state.window(limits.model)
    under_way = len(state.of(limits.model))
    held = state.leases.pop(lease, None)
    window.refusals += 1
    accepted = sum(one.is_open for one in state.of(limits.model))
    if held is None or held.began > window.shrunk_at:
        # Once for all that went out together: their refusals say the same thing.
        # Where it served nobody, how many were under way says nothing of how many it would serve.
        room = places(state, limits)
        _shrink(window, min(room, under_way) if accepted else room, accepted, now)
    if retry_after is not None:
        pause = min(retry_after, PAUSE_NAMED_MAX_SECONDS)
    elif accepted:
        pause = 0.0
    else:
        pause = min(PAUSE_MAX_SECONDS, PAUSE_FIRST_SECONDS * 2 ** min(window.refusals - 1, 10))
    window.blocked_until = max(window.blocked_until, now + pause)


def _shrink(window: Window, before: int, accepted: int, now: float) -> None:
    """`before` were too many, and `accepted` of them were being served."""
    shrunk = before * DECREASE
    was_probe = window.wall is not None and before - window.wall <= 1
    window.size = max(1.0, min(float(accepted), before - 1.0) if accepted >= shrunk else shrunk)
    window.probe_windows = min(PROBE_WINDOWS_MAX, window.probe_windows * 2) if was_probe else 1.0
    window.wall, window.shrunk_at, window.answers = window.size, now, 0


def settled(state: State, limits: Limits, lease: str, *, is_success: bool, tokens_over: float, now: float) -> None:
    """Give the place back after an answer; `tokens_over` is what it took beyond the estimate."""
    window = state.window(limits.model)
    was_full = len(state.of(limits.model)) >= int(window.size) - 1
    if state.leases.pop(lease, None) is None:
        return
    state.tokens_spent = max(0.0, state.tokens_spent + tokens_over)
    if not (is_success and was_full) or window.size >= WINDOW_MAX:
        return
    window.answers += 1
    if window.wall is None or window.size < window.wall or window.answers >= window.size * window.probe_windows:
        window.wall = None if window.wall is None else max(window.wall, window.size)
        window.size, window.answers = window.size + 1, 0


def renewed(state: State, lease: str, now: float) -> None:
    """Its holder lives."""
    if held := state.leases.get(lease):
        held.until = now + LEASE_SECONDS
