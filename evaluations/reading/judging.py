"""How the judges of a run agree with each other, and what they lean towards. Reads once, then counts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import scipy  # its parts load when they are used: statistics alone would take a third of every start

from evaluations.agreement import (
    TIE,
    Agreement,
    Share,
    agreement,
    krippendorff_alpha,
    length_bias,
    self_preference,
)
from evaluations.models import Run
from evaluations.scoring import Game, Score, orders
from evaluations.selectors import games_of, scores_of

WINNERS = {0: TIE, 1: "model_a", 2: "model_b"}
# Two grades from 1 to 10 that differ by no more than this are taken for the same.
GRADES_APART = 1.0
Answer = tuple[str, int, int]  # model, question, turn


@dataclass(frozen=True)
class Judged:
    """What one judge said: grades, games, and the mean grade of each answer."""

    scores: Sequence[Score]
    games: Sequence[Game]

    def part(self, keep: Callable[[Score | Game], bool]) -> "Judged":
        return Judged([one for one in self.scores if keep(one)], [one for one in self.games if keep(one)])

    @cached_property
    def grades(self) -> dict[Answer, float]:
        groups: dict[Answer, list[float]] = defaultdict(list)
        for score in self.scores:
            groups[score.model, score.question, score.turn].append(score.score)
        return {key: sum(values) / len(values) for key, values in groups.items()}

    @cached_property
    def winners(self) -> dict[tuple[str, str, int, int], str]:
        """The winner of each game by both orders; of several judgments of the same, the first."""
        found: dict[tuple[str, str, int, int], str] = {}
        for game in self.games:
            if game.outcome is not None:
                found.setdefault((game.model_1, game.model_2, game.question, game.turn), WINNERS[game.outcome])
        return found


def judged_of(run: Run, references: int = 0) -> dict[str, Judged]:
    """By the judges' names."""
    return {
        name: Judged(
            scores_of(run, judge_id=pk, references=references), games_of(run, judge_id=pk, references=references)
        )
        for pk, name in run.judges.order_by("name").values_list("pk", "name")
    }


def lengths_of(run: Run) -> dict[Answer, int]:
    """Characters of the first answer of each model in each turn."""
    rows = run.answers.filter(choice=0).order_by().values_list("model__name", "question__number", "turn", "text")
    return {(model, number, turn): len(text) for model, number, turn, text in rows}


def judging_report(run: Run, references: int = 0) -> dict[str, Any]:
    """Each judge's leanings, and how far every two agree: over all, by category and by turn. As JSON may hold it."""
    judged, lengths = judged_of(run, references), lengths_of(run)
    everything: list[Score | Game] = []
    for said in judged.values():
        everything += [*said.scores, *said.games]
    parts: dict[str, Callable[[Any], bool]] = {"": lambda one: True}
    parts |= {f"category:{name}": _in("category", name) for name in sorted({one.category for one in everything})}
    parts |= {f"turn:{number}": _in("turn", number) for number in sorted({one.turn for one in everything})}
    report = {}
    for name, keep in parts.items():
        of_part = {judge: said.part(keep) for judge, said in judged.items()} if name else judged
        report[name] = {
            "has_grades": any(said.scores for said in of_part.values()),
            "has_games": any(said.games for said in of_part.values()),
            "leanings": {judge: leanings(judge, of_part, lengths) for judge in of_part},
            "pairs": [between(one, of_part[one], two, of_part[two]) for one, two in combinations(of_part, 2)],
            "alpha_grades": _alpha(of_part, "grades"),
            "alpha_winners": _alpha(of_part, "winners"),
        }
    return report


def _in(name: str, value: object) -> Callable[[Any], bool]:
    return lambda one: getattr(one, name) == value


def leanings(judge: str, judged: Mapping[str, Judged], lengths: Mapping[Answer, int]) -> dict[str, Any]:
    """Position, length and self: what a judge leans towards. Shares are from 0 to 1, None of nothing."""
    said = judged[judge]
    both = orders(said.games)
    grades = said.grades
    longer = length_bias(
        (lengths[one], lengths[two], game.outcome)
        for game in said.games
        if (one := (game.model_1, game.question, game.turn)) in lengths
        and (two := (game.model_2, game.question, game.turn)) in lengths
    )
    pairs = [(lengths[key], grade) for key, grade in grades.items() if key in lengths]
    return {
        "scores": len(said.scores),
        "mean": sum(score.score for score in said.scores) / len(said.scores) if said.scores else None,
        "games": both.games,
        "without_verdict": both.errors,
        "flipped": share(Share(both.flipped, both.decided)),
        "tie_in_one_order": share(Share(both.half_ties, both.decided)),
        "first_shown": share(Share(both.first_shown, both.first_shown + both.second_shown)),
        "longer_wins": share(longer),
        "length_and_grade": _correlation(pairs),
        "prefers_itself_by": self_preference(_own(judge, judged)),
        "wins_of_its_own": _own_wins(judge, judged),
    }


def _own(judge: str, judged: Mapping[str, Judged]) -> Iterator[tuple[bool, float]]:
    others = [said.grades for name, said in judged.items() if name != judge]
    for key, grade in judged[judge].grades.items():
        theirs = [grades[key] for grades in others if key in grades]
        if theirs:
            yield key[0] == judge, grade - sum(theirs) / len(theirs)


def _own_wins(judge: str, judged: Mapping[str, Judged]) -> float | None:
    """The judge's own adjusted win rate as it sees it, less that as the other judges see it; None without both."""
    own = _rate(judge, [judged[judge]])
    theirs = _rate(judge, [said for name, said in judged.items() if name != judge])
    return None if own is None or theirs is None else own - theirs


def _rate(model: str, judged: Iterable[Judged]) -> float | None:
    points = []
    for said in judged:
        for (one, two, *_), winner in said.winners.items():
            if model in (one, two):
                points.append(0.5 if winner == TIE else float((winner == "model_a") == (one == model)))
    return sum(points) / len(points) if points else None


def between(one: str, first: Judged, two: str, second: Judged) -> dict[str, Any]:
    """How far two judges agree on what both judged. Grades agree where they are at most one apart."""
    own, other = first.grades, second.grades
    pairs = [(own[key], other[key]) for key in own.keys() & other.keys()]
    winners, others = first.winners, second.winners
    games = agreement((winners[key], others[key]) for key in sorted(winners.keys() & others.keys()))
    near = Share(sum(abs(a - b) <= GRADES_APART for a, b in pairs), len(pairs))
    return {
        "first": one,
        "second": two,
        "grades": share(near) | {"alpha": krippendorff_alpha(pairs, metric="interval")},
        "games": agreed(games),
    }


def _alpha(judged: Mapping[str, Judged], what: str) -> float | None:
    units: dict[Any, list[float | str]] = defaultdict(list)
    for said in judged.values():
        for key, value in getattr(said, what).items():
            units[key].append(value)
    return krippendorff_alpha(units.values(), metric="interval" if what == "grades" else "nominal")


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation; None where one of the two never varies."""
    if len(pairs) < 3 or any(len(set(column)) < 2 for column in zip(*pairs, strict=True)):
        return None
    lengths, grades = zip(*pairs, strict=True)
    return float(scipy.stats.spearmanr(lengths, grades).statistic)


def share(found: Share) -> dict[str, Any]:
    """A share as JSON: counts, rate and Wilson's 95% interval."""
    return asdict(found) | {"rate": found.rate, "interval": list(found.interval) if found.interval else None}


def agreed(found: Agreement) -> dict[str, Any]:
    return {"with_ties": share(found.with_ties), "without_ties": share(found.without_ties), "kappa": found.kappa}


def agreement_matrix(report: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """For the chart: every two judges with the share in which they agree, on grades where there are any, else on
    games; each judge with itself is 1."""
    rows = []
    for pair in report[""]["pairs"]:
        rate = pair["grades"]["rate"] if pair["grades"]["rate"] is not None else pair["games"]["with_ties"]["rate"]
        if rate is not None:
            rows.append((pair["first"], pair["second"], rate))
    names = sorted({name for one, two, _ in rows for name in (one, two)})
    return [*rows, *((name, name, 1.0) for name in names)]
