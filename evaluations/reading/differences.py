"""How much better the same questions were answered the second time: means, intervals and tests. Pure.

Everything is paired by question: a question's turns are not independent of each other, so that a question counts once.
Sources: Wilcoxon (1945) for the signed ranks, Holm (1979) for what many tests cost.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import scipy  # its parts load when they are used: statistics alone would take a third of every start

from evaluations.scoring import Score, paired_difference

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """One model of the first run and one of the second, over all questions or a part of them.

    `part` is empty for all, else for example `category:math` or `turn:2`. `difference` is the second mean less the
    first, with its 95% paired bootstrap interval. `better`, `worse` and `same` count questions; `p_wilcoxon` and
    `p_sign` are two-sided, `p_holm` is Wilcoxon's corrected for all tests of the comparison.
    """

    first: str
    second: str
    part: str
    questions: int
    first_mean: float
    second_mean: float
    difference: float
    lower: float
    upper: float
    better: int
    worse: int
    same: int
    p_wilcoxon: float
    p_sign: float
    p_holm: float = 1.0

    @property
    def is_significant(self) -> bool:
        """Whether the corrected test and the interval both say so."""
        return self.p_holm < SIGNIFICANT and (self.lower > 0 or self.upper < 0)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"is_significant": self.is_significant}


@dataclass(frozen=True, slots=True)
class Change:
    """How one model's mean score of one question changed."""

    first: str
    second: str
    question: int
    category: str
    first_mean: float
    second_mean: float

    @property
    def difference(self) -> float:
        return self.second_mean - self.first_mean

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"difference": self.difference}


def differences(
    pairs: Iterable[tuple[str, str]], first: Mapping[str, Sequence[Score]], second: Mapping[str, Sequence[Score]]
) -> list[Difference]:
    """Each pair of models over all questions, by category and by turn, corrected for how many tests these are. Parts
    without a common question are left out."""
    found: list[Difference] = []
    for one, two in pairs:
        before, after = first[one], second[two]
        parts: dict[str, Callable[[Score], bool]] = {"": lambda score: True}
        parts |= {f"category:{name}": _of("category", name) for name in sorted({score.category for score in before})}
        parts |= {f"turn:{turn}": _of("turn", turn) for turn in sorted({score.turn for score in before})}
        for part, keep in parts.items():
            difference = _difference(one, two, part, list(filter(keep, before)), list(filter(keep, after)))
            if difference is not None:
                found.append(difference)
    adjusted = holm([one.p_wilcoxon for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True)]


def changes(
    pairs: Iterable[tuple[str, str]], first: Mapping[str, Sequence[Score]], second: Mapping[str, Sequence[Score]]
) -> list[Change]:
    """Every question that both have, the greatest change first."""
    found = []
    for one, two in pairs:
        before, after = by_question(first[one], second[two]), by_question(second[two], first[one])
        categories = {score.question: score.category for score in first[one]}
        found += [Change(one, two, number, categories[number], before[number], after[number]) for number in before]
    return sorted(found, key=lambda change: (-abs(change.difference), change.question, change.first))


def by_question(scores: Sequence[Score], others: Sequence[Score]) -> dict[int, float]:
    """The mean of each question over the turns that `others` have, too."""
    shared = {(score.question, score.turn) for score in others}
    turns: dict[tuple[int, int], list[float]] = defaultdict(list)
    for score in scores:
        if (score.question, score.turn) in shared:
            turns[score.question, score.turn].append(score.score)
    questions: dict[int, list[float]] = defaultdict(list)
    for (question, _), values in turns.items():
        questions[question].append(sum(values) / len(values))
    return {question: sum(values) / len(values) for question, values in sorted(questions.items())}


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected so that all of them together err with the same chance as one alone would."""
    adjusted, highest = [1.0] * len(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, values[index] * (len(values) - rank)))
        adjusted[index] = highest
    return adjusted


def _of(name: str, value: object) -> Callable[[Score], bool]:
    return lambda score: bool(getattr(score, name) == value)


def _difference(one: str, two: str, part: str, before: Sequence[Score], after: Sequence[Score]) -> Difference | None:
    try:
        difference, lower, upper = paired_difference(before, after)
    except ValueError:
        return None
    first, second = by_question(before, after), by_question(after, before)
    deltas = [second[number] - first[number] for number in first]
    better, worse = sum(delta > 0 for delta in deltas), sum(delta < 0 for delta in deltas)
    told = [delta for delta in deltas if delta]
    return Difference(
        first=one,
        second=two,
        part=part,
        questions=len(deltas),
        first_mean=sum(first.values()) / len(first),
        second_mean=sum(second.values()) / len(second),
        difference=difference,
        lower=lower,
        upper=upper,
        better=better,
        worse=worse,
        same=len(deltas) - better - worse,
        p_wilcoxon=float(scipy.stats.wilcoxon(told).pvalue) if told else 1.0,
        p_sign=float(scipy.stats.binomtest(better, better + worse).pvalue) if told else 1.0,
    )
