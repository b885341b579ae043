"""What an experiment is: a grid of pairs, scenarios, variations and iterations, and how many turns that means. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from math import prod
from typing import Any, Literal

import msgspec

from common.text import is_blank, text_problem
from conversations.errors import ExperimentInvalid
from conversations.sampling import SAMPLED, WRONG, sampling_of, wrong_in
from providers.adapters.base import Sampling

Pairs = Literal["ordered", "unordered", "listed"]
KEY = re.compile(r"\w+")


class Grid(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The configuration, as a file or a request gives it. Models and scenarios are slugs.

    Both agents of a conversation are sampled alike, and each pair plays at every combination of the values of SAMPLED;
    None leaves one to the model.
    """

    name: str
    scenarios: tuple[str, ...]
    models: tuple[str, ...] = ()
    pairs: Pairs = "ordered"
    listed: tuple[tuple[str, str], ...] = ()
    """The pairs themselves, where `pairs` is listed."""
    self_pairs: bool = True
    iterations: int = 1
    turns: int = 10
    temperature: tuple[float | None, ...] = (0.7,)
    top_p: tuple[float | None, ...] = (None,)
    max_tokens: tuple[int | None, ...] = (None,)
    seed: int | None = None
    """Of the first conversation; each further one has the next number."""
    stop_phrase: str = ""
    stops_on_goodbye: bool = False
    stops_on_repetition: bool = False
    scenario_versions: dict[str, int] = {}
    """Of those scenarios that are not to be played in their newest version."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One conversation of the plan; `number` is its place in it, from 0."""

    number: int
    model_a: str
    model_b: str
    scenario: str
    sampling: Sampling
    iteration: int
    seed: int | None


@dataclass(frozen=True, slots=True)
class Rates:
    """What one model takes: tokens and seconds a turn, US dollars a million tokens (None where it has no price).
    `most` tokens are a turn's limit where the sampling has none."""

    tokens: float
    seconds: float
    input_price: float | None = None
    output_price: float | None = None
    most: int | None = None

    def at(self, limit: int | None) -> "Rates":
        """The same with turns that are cut off at `limit`, which take less time in proportion."""
        most = limit or self.most
        if most is None or self.tokens <= most:
            return self
        return replace(self, tokens=most, seconds=self.seconds * most / self.tokens)


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
    """The grid from plain data, in which one value may stand for a list of one. Raises ExperimentInvalid, with the key
    that is wrong."""
    alone = {name: [given[name]] for name in SAMPLED if name in given and not isinstance(given[name], list | tuple)}
    try:
        grid = msgspec.convert({**given, **alone}, Grid)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        key = path.rstrip("`")
        raise _invalid(KEY.match(key), f"{key}: {what}." if key else f"{what}.") from error
    for key, words in _problems(grid):
        raise _invalid(KEY.match(key), words)
    return grid


def _problems(grid: Grid) -> Iterator[tuple[str, str]]:
    """The key and what is wrong with it, in words."""
    for key, limit in (("name", 100), ("stop_phrase", 200)):
        if problem := text_problem(getattr(grid, key), limit=limit, what=key.replace("_", " ")):
            yield key, problem
    for key, is_wrong, words in (
        ("name", is_blank(grid.name), "An experiment needs a name of at most 100 characters."),
        ("scenarios", not grid.scenarios, "Name at least one scenario."),
        ("iterations", grid.iterations < 1, "Iterations are at least 1."),
        ("turns", grid.turns < 1, "Turns are at least 1."),
        ("listed", grid.pairs == "listed" and not grid.listed, "Name the pairs under “listed”."),
        ("models", grid.pairs != "listed" and not grid.models, "Name at least one model."),
        ("seed", grid.seed is not None and not 0 <= grid.seed < 2**32, "A seed is from 0 to 4,294,967,295."),
    ):
        if is_wrong:
            yield key, words
    for name in SAMPLED:
        values = getattr(grid, name)
        if not values or any(name in wrong_in(sampling_of({name: value})) for value in values):
            yield name, WRONG[name]
    if not size_of(grid):
        yield "models", "There is no pair: allow pairs of a model with itself, or name another model."


def _invalid(key: "re.Match[str] | None", words: str) -> ExperimentInvalid:
    return ExperimentInvalid(words, fields={key[0]: [words]} if key else None)


def pairs_of(grid: Grid) -> Sequence[tuple[str, str]]:
    """Agent A and agent B of each pair."""
    if grid.pairs == "listed":
        return list(dict.fromkeys(grid.listed))
    models = list(dict.fromkeys(grid.models))
    found = list(permutations(models, 2) if grid.pairs == "ordered" else combinations(models, 2))
    return sorted([*found, *((one, one) for one in models)]) if grid.self_pairs else found


def samplings_of(grid: Grid) -> list[Sampling]:
    """Every combination of the values, each once."""
    values = (dict.fromkeys(getattr(grid, name)) for name in SAMPLED)
    return [Sampling(**dict(zip(SAMPLED, one, strict=True))) for one in product(*values)]


def size_of(grid: Grid) -> int:
    """How many conversations it means, without making them."""
    count = len(set(grid.models))
    mixed = count * (count - 1) // (1 if grid.pairs == "ordered" else 2)
    pairs = len(set(grid.listed)) if grid.pairs == "listed" else mixed + count * grid.self_pairs
    samplings = prod(len(set(getattr(grid, name))) for name in SAMPLED)
    return pairs * len(set(grid.scenarios)) * samplings * grid.iterations


def cells(grid: Grid) -> Iterator[Cell]:
    """Every conversation of the plan, iterations last, so that one that is broken off has seen every cell."""
    rest = product(pairs_of(grid), dict.fromkeys(grid.scenarios), samplings_of(grid))
    columns = list(rest)
    for iteration in range(1, grid.iterations + 1):
        for at, ((one, other), scenario, sampling) in enumerate(columns):
            number = (iteration - 1) * len(columns) + at
            seed = None if grid.seed is None else (grid.seed + number) % 2**32
            yield Cell(number, one, other, scenario, sampling, iteration, seed)


def estimate(grid: Grid, rates: Mapping[str, Rates], *, system_tokens: float, at_once: int) -> Estimate:
    """What the plan takes, if turns are as long as `rates` say. Each turn is asked with all that was said before it, so
    the input grows with the square of the turns. `system_tokens` stand before each of them."""
    input_tokens = output_tokens = seconds = cost = 0.0
    is_priced = False
    longest = 0.0
    each = len(set(grid.scenarios)) * grid.iterations
    limits = Counter(one.max_tokens for one in samplings_of(grid))
    for pair, (limit, number) in product(pairs_of(grid), limits.items()):
        said, chain, runs = 0.0, 0.0, each * number
        for turn in range(grid.turns):
            rate = rates[pair[turn % 2]].at(limit)
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
