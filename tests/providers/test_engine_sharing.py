"""Engines that share a GPU: who may be awake together, who makes room, and for how long."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from providers.engines.sharing import AWAKE_AT_LEAST_SECONDS, IN_MEMORY, SHARE_MOST, Decision, Sharer, decide
from providers.engines.states import State, Wanted

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MOMENT = 10_000.0  # of the clock that only runs on


def sharer(slug: str, share: float | None, state: State, asked: float = 0, **more: Any) -> Sharer:
    """One that was asked for so many seconds ago."""
    fields: dict[str, Any] = {"gpus": frozenset({0}), "wanted": Wanted.AWAKE, "state_since": MOMENT - 3600}
    return Sharer(slug, share=share, state=state, wanted_at=NOW - timedelta(seconds=asked), **fields | more)


def decided(*sharers: Sharer) -> Decision:
    return decide(sharers, MOMENT)


def test_those_that_fit_are_awake_together() -> None:
    found = decided(sharer("a", 0.4, State.READY), sharer("b", 0.5, State.STOPPED))
    assert set(found.wanted.values()) == {Wanted.AWAKE}
    assert not found.displaced


def test_the_one_that_was_asked_for_longest_ago_makes_room_first() -> None:
    old, new, next_ = (
        sharer("old", 0.4, State.READY, 90), sharer("new", 0.4, State.READY, 60), sharer("next", 0.4, State.ASLEEP, 1)
    )  # fmt: skip
    found = decided(old, new, next_)
    assert found.displaced == {"old"}
    assert found.wanted == {"old": Wanted.ASLEEP, "new": Wanted.AWAKE, "next": Wanted.ASLEEP}, "not before it is free"
    old = sharer("old", 0.4, State.ASLEEP, 90, wanted=Wanted.ASLEEP)
    assert decided(old, new, next_).wanted["next"] is Wanted.AWAKE


def test_one_that_has_just_woken_is_not_put_to_sleep_at_once() -> None:
    fresh = sharer("fresh", 0.9, State.READY, 60, state_since=MOMENT - AWAKE_AT_LEAST_SECONDS / 2)
    asked = sharer("asked", 0.9, State.ASLEEP, 0)
    assert decided(fresh, asked).displaced == {"asked"}
    fresh = sharer("fresh", 0.9, State.READY, 60, state_since=MOMENT - 2 * AWAKE_AT_LEAST_SECONDS)
    assert decided(fresh, asked).displaced == {"fresh"}


def test_gpus_apart_disturb_nobody() -> None:
    one, other = sharer("a", 0.9, State.READY), sharer("b", None, State.STOPPED, gpus=frozenset({1}))
    assert not decided(one, other).displaced
    both = sharer("b", 0.5, State.STOPPED, gpus=frozenset({0, 1}))
    assert decided(one, both).displaced
    assert decided(one, sharer("b", 0.5, State.STOPPED, gpus=frozenset())).displaced, "one that may use all meets all"


shares = st.one_of(st.none(), st.floats(0.05, 0.95))
fleets = st.lists(
    st.tuples(shares, st.sampled_from(State), st.integers(0, 100), st.sampled_from(Wanted)), min_size=1, max_size=7
)


@given(fleets)
def test_nobody_begins_where_there_is_no_room_and_somebody_always_may(fleet: list[Any]) -> None:
    sharers = [sharer(str(n), share, state, asked, wanted=w) for n, (share, state, asked, w) in enumerate(fleet)]
    found = decide(sharers, MOMENT)
    begun = [one for one in sharers if found.wanted[one.slug] is Wanted.AWAKE and one.state not in IN_MEMORY]
    inside = [one for one in sharers if one.state in IN_MEMORY]
    if begun and len(begun) + len(inside) > 1:
        assert sum(0.92 if one.share is None else one.share for one in [*begun, *inside]) <= SHARE_MOST + 1e-6
    wanted = [one for one in sharers if one.wanted is Wanted.AWAKE]
    assert not wanted or len(found.displaced) < len(wanted)
    assert found.displaced <= {one.slug for one in wanted}
