"""What an experiment is: a grid of pairs, scenarios, variations and iterations, and how many turns that means. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any, Literal

import msgspec

from conversations.errors import ExperimentInvalid

Pairs = Literal["ordered", "unordered", "listed"]


class Grid(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The configuration, as a file or a request gives it. Models and scenarios are slugs."""

    name: str
    scenarios: tuple[str, ...]
    models: tuple[str, ...] = ()
    pairs: Pairs = "ordered"
    listed: tuple[tuple[str, str], ...] = ()
    """The pairs themselves, where `pairs` is listed."""
    self_pairs: bool = True
    iterations: int = 1
    turns: int = 10
    temperatures: tuple[float, ...] = (0.7,)
    max_tokens: int | None = None
    seed: int | None = None
    """Of the first conversation; each further one has the next number."""
    stop_phrase: str = ""
    stops_on_goodbye: bool = False
    stops_on_repetition: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One conversation of the plan; `number` is its place in it, from 0."""

    number: int
    model_a: str
    model_b: str
    scenario: str
    temperature: float
    iteration: int
    seed: int | None


@dataclass(frozen=True, slots=True)
class Rates:
    """What one model takes: tokens and seconds a turn, US dollars a million tokens (None where it has no price)."""

    tokens: float
    seconds: float
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an experiment means; cost in US dollars, None where no model has a price."""

    conversations: int
    turns: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float


def grid_read(given: Mapping[str, Any]) -> Grid:
    """The grid from plain data. Raises ExperimentInvalid."""
    try:
        grid = msgspec.convert(given, Grid)
    except msgspec.ValidationError as error:
        raise ExperimentInvalid(f"{error}.") from error
    for what, is_wrong in {
        "An experiment needs a name of at most 100 characters.": not grid.name.strip() or len(grid.name) > 100,
        "Name at least one scenario.": not grid.scenarios,
        "Iterations are at least 1.": grid.iterations < 1,
        "Turns are at least 1.": grid.turns < 1,
        "Temperatures are from 0 to 5.": not grid.temperatures or not all(0 <= t <= 5 for t in grid.temperatures),
        "Name the pairs under “listed”.": grid.pairs == "listed" and not grid.listed,
        "Name at least one model.": grid.pairs != "listed" and not grid.models,
        "Max tokens are from 1 to 32,000.": grid.max_tokens is not None and not 1 <= grid.max_tokens <= 32_000,
        "A seed is from 0 to 4,294,967,295.": grid.seed is not None and not 0 <= grid.seed < 2**32,
    }.items():
        if is_wrong:
            raise ExperimentInvalid(what)
    if not pairs_of(grid):
        raise ExperimentInvalid("There is no pair: allow pairs of a model with itself, or name another model.")
    return grid


def pairs_of(grid: Grid) -> Sequence[tuple[str, str]]:
    """Agent A and agent B of each pair."""
    if grid.pairs == "listed":
        return list(dict.fromkeys(grid.listed))
    models = list(dict.fromkeys(grid.models))
    found = list(permutations(models, 2) if grid.pairs == "ordered" else combinations(models, 2))
    return sorted([*found, *((one, one) for one in models)]) if grid.self_pairs else found


def size_of(grid: Grid) -> int:
    """How many conversations it means, without making them."""
    count = len(set(grid.models))
    mixed = count * (count - 1) // (1 if grid.pairs == "ordered" else 2)
    pairs = len(set(grid.listed)) if grid.pairs == "listed" else mixed + count * grid.self_pairs
    return pairs * len(set(grid.scenarios)) * len(set(grid.temperatures)) * grid.iterations


def cells(grid: Grid) -> Iterator[Cell]:
    """Every conversation of the plan, iterations last, so that one that is broken off has seen every cell."""
    rest = product(pairs_of(grid), dict.fromkeys(grid.scenarios), dict.fromkeys(grid.temperatures))
    columns = list(rest)
    for iteration in range(1, grid.iterations + 1):
        for at, ((one, other), scenario, temperature) in enumerate(columns):
            number = (iteration - 1) * len(columns) + at
            seed = None if grid.seed is None else (grid.seed + number) % 2**32
            yield Cell(number, one, other, scenario, temperature, iteration, seed)


def estimate(grid: Grid, rates: Mapping[str, Rates], *, system_tokens: float, at_once: int) -> Estimate:
    """What the plan takes, if turns are as long as `rates` say. Each turn is asked with all that was said before it, so
    the input grows with the square of the turns. `system_tokens` stand before each of them."""
    input_tokens = output_tokens = seconds = cost = 0.0
    is_priced = False
    longest = 0.0
    runs = len(set(grid.scenarios)) * len(set(grid.temperatures)) * grid.iterations
    for pair in pairs_of(grid):
        said = chain = 0.0
        for turn in range(grid.turns):
            rate = rates[pair[turn % 2]]
            asked, said = system_tokens + said, said + rate.tokens
            input_tokens += asked * runs
            output_tokens += rate.tokens * runs
            chain += rate.seconds
            if rate.input_price is not None and rate.output_price is not None:
                is_priced = True
                cost += runs * (asked * rate.input_price + rate.tokens * rate.output_price) / 1e6
        seconds += chain * runs
        longest = max(longest, chain)
    size = size_of(grid)
    return Estimate(
        conversations=size,
        turns=size * grid.turns,
        input_tokens=round(input_tokens),
        output_tokens=round(output_tokens),
        cost=round(cost, 4) if is_priced else None,
        seconds=round(max(longest, seconds / max(at_once, 1)), 1),
    )
