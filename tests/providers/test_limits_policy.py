"""Who is let in to an endpoint: the window adapts, buckets leak, people go before batches. Pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.adapters.base import Headroom, Limits, Priority
from providers.limits import policy
from providers.limits.policy import Request, State, Window

PERSON, BATCH = Priority.INTERACTIVE, Priority.BATCH
FREE = Limits("e")
NOW = 1_000_000.0


def fill(state: State, limits: Limits, number: int, now: float = NOW, priority: Priority = PERSON) -> list[str]:
    """Ask `number` times; the leases of those who were let in, all of them accepted by the upstream."""
    held = []
    for i in range(number):
        lease = f"{now}-{i}"
        if policy.admit(state, limits, Request(lease, priority, 0), now) == 0:
            policy.opened(state, limits, lease, Headroom(), now)
            held.append(lease)
    return held


def test_no_more_than_the_configured_streams_are_let_in() -> None:
    assert len(fill(State(), Limits("e", streams=5), 20)) == 5


def test_a_place_that_is_given_back_is_free() -> None:
    state, limits = State(), Limits("e", streams=1)
    (lease,) = fill(state, limits, 1)
    assert policy.admit(state, limits, Request("b"), NOW) > 0
    policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=NOW)
    assert policy.admit(state, limits, Request("b"), NOW) == 0


def test_answers_make_a_full_window_grow_and_an_idle_one_stay() -> None:
    state = State()
    for lease in fill(state, FREE, 1000):
        policy.settled(state, FREE, lease, is_success=True, tokens_over=0, now=NOW)
    assert state.window("").size > policy.WINDOW_START
    idle = State()
    for i in range(100):
        (lease,) = fill(idle, FREE, 1, NOW + i)
        policy.settled(idle, FREE, lease, is_success=True, tokens_over=0, now=NOW + i)
    assert idle.window("").size == policy.WINDOW_START


def test_a_refusal_finds_the_upstreams_own_limit() -> None:
    state = State(windows={"": Window(64)})
    held = [f"a{i}" for i in range(64)]
    for lease in held:
        assert policy.admit(state, FREE, Request(lease), NOW) == 0
    for lease in held[:50]:
        policy.opened(state, FREE, lease, Headroom(), NOW)
    for lease in held[50:]:
        policy.refused(state, FREE, lease, None, NOW + 0.1)
    assert policy.places(state, FREE) == 50


def test_those_that_were_still_under_way_at_the_refusal_count_too() -> None:
    state = State(windows={"": Window(64)})
    held = [f"a{i}" for i in range(64)]
    for lease in held:
        policy.admit(state, FREE, Request(lease), NOW)
    for lease in held[:10]:
        policy.opened(state, FREE, lease, Headroom(), NOW)
    for lease in held[50:]:
        policy.refused(state, FREE, lease, None, NOW + 0.1)
    assert policy.places(state, FREE) < 50
    for lease in held[10:50]:
        policy.opened(state, FREE, lease, Headroom(), NOW + 0.2)
    assert policy.places(state, FREE) == 50


def test_refusals_of_one_burst_count_once() -> None:
    state = State(windows={"": Window(100)})
    held = [f"a{i}" for i in range(100)]
    for lease in held:
        policy.admit(state, FREE, Request(lease), NOW)
    for lease in held:
        policy.refused(state, FREE, lease, None, NOW)
    assert policy.places(state, FREE) == 70


def test_beyond_the_wall_the_window_feels_its_way_and_less_often_each_time_it_was_wrong() -> None:
    state = State(windows={"": Window(10, 10.0)})
    for number, lease in enumerate(fill(state, FREE, 40)):  # while others take the places that become free
        policy.settled(state, FREE, lease, is_success=True, tokens_over=0, now=NOW)
        fill(state, FREE, 1, NOW + (number + 1) / 1000)
    window = state.window("")
    assert window.size == 11
    for round_number, windows in ((2, 2.0), (4, 4.0)):
        now = NOW + 10 * round_number
        state.leases.clear()
        held = fill(state, FREE, 11, now)
        policy.refused(state, FREE, held[-1], None, now + 1)
        assert (window.size, window.wall, window.probe_windows) == (10, 10, windows)
        window.size = 11


@pytest.mark.parametrize(("said", "wait"), [(7.0, 7.0), (10_000.0, policy.PAUSE_NAMED_MAX_SECONDS), (0.0, 0.0)])
def test_nobody_is_let_in_before_the_time_that_the_upstream_named(said: float, wait: float) -> None:
    state = State()
    (lease,) = fill(state, FREE, 1)
    policy.refused(state, FREE, lease, said, NOW)
    assert policy.admit(state, FREE, Request("b"), NOW) == pytest.approx(wait)


def test_an_upstream_that_accepts_nobody_is_left_alone_for_longer_and_longer() -> None:
    state, pauses = State(), []
    for i in range(4):
        now = NOW + 100 * i
        policy.admit(state, FREE, Request(str(i)), now)
        policy.refused(state, FREE, str(i), None, now)
        pauses.append(state.window("").blocked_until - now)
    assert pauses == [0.25, 0.5, 1.0, 2.0]


def test_an_upstream_with_nothing_left_is_left_alone_until_its_reset() -> None:
    state = State()
    policy.admit(state, FREE, Request("a"), NOW)
    policy.opened(state, FREE, "a", Headroom(requests=0, reset=12.0), NOW)
    assert policy.admit(state, FREE, Request("b"), NOW) == pytest.approx(12.0)
    assert policy.admit(state, FREE, Request("b"), NOW + 12.1) == 0


def test_requests_a_minute_are_kept() -> None:
    state, limits, let_in = State(), Limits("e", requests_per_minute=60), 0
    for tenth in range(1200):
        now = NOW + tenth / 10
        if policy.admit(state, limits, Request(str(tenth)), now) == 0:
            let_in += 1
            policy.settled(state, limits, str(tenth), is_success=True, tokens_over=0, now=now)
    assert let_in == pytest.approx(60 * 2 + 60 * policy.BURST_SECONDS / 60, abs=2)


def test_requests_a_minute_of_one_model_hold_up_no_other() -> None:
    state, let_in = State(), 0
    slow, other = Limits("e", "slow", model_requests_per_minute=60), Limits("e", "other")
    for tenth in range(1200):
        now = NOW + tenth / 10
        if policy.admit(state, slow, Request(str(tenth)), now) == 0:
            let_in += 1
            policy.settled(state, slow, str(tenth), is_success=True, tokens_over=0, now=now)
        assert policy.admit(state, other, Request(f"other {tenth}"), now) == 0
        policy.settled(state, other, f"other {tenth}", is_success=True, tokens_over=0, now=now)
    assert let_in == pytest.approx(60 * 2 + 60 * policy.BURST_SECONDS / 60, abs=2)


def test_tokens_a_minute_are_kept_and_estimates_made_good() -> None:
    state, limits = State(), Limits("e", tokens_per_minute=6000)
    assert policy.admit(state, limits, Request("a", PERSON, 1000), NOW) == 0
    policy.settled(state, limits, "a", is_success=True, tokens_over=4500, now=NOW)
    assert policy.admit(state, limits, Request("b", PERSON, 1000), NOW) == pytest.approx(5.0)
    assert policy.admit(state, limits, Request("huge", PERSON, 99_999), NOW + 60) == 0


def test_batches_leave_places_to_people_who_are_around() -> None:
    limits = Limits("e", streams=10)
    assert len(fill(State(), limits, 20, priority=BATCH)) == 10
    state = State()
    (lease,) = fill(state, limits, 1)
    policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=NOW)
    assert len(fill(state, limits, 20, NOW + 1, BATCH)) == 9
    assert len(fill(state, limits, 20, NOW + 2, PERSON)) == 1


def test_a_batch_gives_way_to_a_person_who_was_not_let_in() -> None:
    state, limits = State(), Limits("e", streams=1)
    (lease,) = fill(state, limits, 1, priority=BATCH)
    assert policy.admit(state, limits, Request("person", process="here", since=NOW), NOW) > 0
    policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=NOW)
    assert policy.admit(state, limits, Request("batch", BATCH, process="here", since=NOW), NOW) > 0
    assert policy.admit(state, limits, Request("person", process="here", since=NOW), NOW) == 0


def test_while_both_wait_every_tenth_place_goes_to_a_batch() -> None:
    state, limits, order = State(), Limits("e", streams=1), []
    policy.admit(state, limits, Request("0"), NOW)
    for number in range(1, 31):
        now = NOW + number / 100
        for lease, priority in (("batch", BATCH), ("person", PERSON)):  # both ask while the place is taken
            assert (
                policy.admit(state, limits, Request(lease, priority, process="here", since=NOW, next_since=NOW), now)
                > 0
            )
        policy.settled(state, limits, str(number - 1), is_success=True, tokens_over=0, now=now)
        for priority in (BATCH, PERSON):
            if (
                policy.admit(
                    state, limits, Request(str(number), priority, process="here", since=NOW, next_since=NOW), now
                )
                == 0
            ):
                order.append(priority)
    assert order == ([PERSON] * policy.PEOPLE_IN_A_ROW + [BATCH]) * 3


def test_at_its_turn_a_batch_may_take_the_place_that_is_left_to_people() -> None:
    state, limits = State(), Limits("e", streams=2)
    fill(state, limits, 1)
    state.people_in_a_row = policy.PEOPLE_IN_A_ROW
    assert policy.admit(state, limits, Request("batch", BATCH), NOW) == 0


def test_among_processes_whoever_waited_clearly_longer_goes_first() -> None:
    state, limits = State(), Limits("e", streams=1)
    (lease,) = fill(state, limits, 1)
    now = NOW + 10
    assert policy.admit(state, limits, Request("old", process="here", since=NOW), now) > 0
    policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=now)
    assert policy.admit(state, limits, Request("new", process="there", since=now), now) > 0
    assert policy.admit(state, limits, Request("old", process="here", since=NOW), now) == 0


def test_whoever_asks_no_longer_holds_nobody_up() -> None:
    state, limits = State(), Limits("e", streams=1)
    (lease,) = fill(state, limits, 1)
    assert policy.admit(state, limits, Request("gone", process="here", since=NOW), NOW) > 0
    policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=NOW)
    later = NOW + policy.SLACK_SECONDS + policy.HEAD_SECONDS + 0.1
    assert policy.admit(state, limits, Request("other", process="there", since=later), later) == 0


def test_a_refusal_gives_the_tokens_back() -> None:
    state, limits = State(), Limits("e", tokens_per_minute=1000)
    assert policy.admit(state, limits, Request("a", PERSON, 900), NOW) == 0
    policy.refused(state, limits, "a", 0.0, NOW, 900)
    assert policy.admit(state, limits, Request("b", PERSON, 900), NOW) == 0


def test_a_model_that_is_always_refused_holds_up_no_other() -> None:
    state, bad, good = State(), Limits("e", "bad"), Limits("e", "good")
    for number in range(20):
        policy.admit(state, bad, Request(str(number), process="bad", since=NOW), NOW + 100 * number)
        policy.refused(state, bad, str(number), None, NOW + 100 * number)
    assert policy.admit(state, bad, Request("next", process="bad", since=NOW), NOW + 1901) > 0
    assert len(fill(state, good, 40, NOW + 1901)) == policy.WINDOW_START


def test_models_share_what_is_configured_and_people_go_first_among_them() -> None:
    state = State()
    one, other = Limits("e", "one", streams=1), Limits("e", "other", streams=1)
    (lease,) = fill(state, one, 1)
    person, batch = (
        Request("person", process="here", since=NOW),
        Request("batch", BATCH, process="there", since=NOW - 50),
    )
    assert policy.admit(state, other, batch, NOW) > 0
    assert policy.admit(state, one, person, NOW) > 0
    policy.settled(state, one, lease, is_success=True, tokens_over=0, now=NOW)
    assert policy.admit(state, other, batch, NOW) > 0
    assert policy.admit(state, one, person, NOW) == 0


def test_a_lone_refusal_is_no_word_on_how_many_may_ask_at_once() -> None:
    state = State()
    policy.admit(state, FREE, Request("a"), NOW)
    policy.refused(state, FREE, "a", None, NOW)
    assert state.window("").size == pytest.approx(policy.WINDOW_START * policy.DECREASE)


def test_the_place_of_a_dead_process_comes_back() -> None:
    state, limits = State(), Limits("e", streams=1)
    fill(state, limits, 1)
    assert policy.admit(state, limits, Request("b"), NOW + policy.LEASE_SECONDS - 1) > 0
    assert policy.admit(state, limits, Request("b"), NOW + policy.LEASE_SECONDS + 1) == 0


def test_a_clock_that_is_set_back_holds_up_nobody_for_long() -> None:
    state, limits = State(), Limits("e", streams=1, requests_per_minute=60, tokens_per_minute=6000)
    fill(state, limits, 1)
    policy.refused(state, limits, "nobody", 120, NOW)
    back = NOW - 3600
    assert policy.admit(state, limits, Request("a"), back) <= policy.PAUSE_NAMED_MAX_SECONDS
    later = back + max(policy.PAUSE_NAMED_MAX_SECONDS, policy.LEASE_SECONDS) + 1
    assert policy.admit(state, limits, Request("a"), later) == 0


def test_a_place_that_is_renewed_is_kept() -> None:
    state, limits = State(), Limits("e", streams=1)
    (lease,) = fill(state, limits, 1)
    policy.renewed(state, lease, NOW + 50)
    assert policy.admit(state, limits, Request("b"), NOW + policy.LEASE_SECONDS + 1) > 0


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["person", "batch", "open", "refuse", "settle"]), st.integers(0, 30)), max_size=200
    ),
    streams=st.one_of(st.none(), st.integers(1, 20)),
)
def test_whatever_happens_the_limit_holds_and_somebody_is_let_in_at_last(
    steps: list[tuple[str, int]], streams: int | None
) -> None:
    state, limits, held, now = State(windows={"": Window(8)}), Limits("e", streams=streams), [], NOW
    for number, (what, which) in enumerate(steps):
        now += 0.05
        lease = held[which % len(held)] if held else ""
        if what in ("person", "batch"):
            request = Request(str(number), BATCH if what == "batch" else PERSON, process=str(which % 3), since=now)
            if policy.admit(state, limits, request, now) == 0:
                held.append(str(number))
        elif lease and what == "open":
            policy.opened(state, limits, lease, Headroom(), now)
        elif lease and what == "refuse":
            policy.refused(state, limits, lease, None, now)
            held.remove(lease)
        elif lease and what == "settle":
            policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=now)
            held.remove(lease)
        assert set(state.leases) == set(held)
        assert len(held) <= (streams or policy.WINDOW_MAX)
        assert state.window("").size >= 1
    for lease in held:
        policy.settled(state, limits, lease, is_success=True, tokens_over=0, now=now)
    assert policy.admit(state, limits, Request("last"), now + policy.PAUSE_MAX_SECONDS + 1) == 0
