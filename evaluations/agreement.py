"""How far judges agree with people, and with each other, and what they lean towards. Pure.

Sources: Zheng et al. (2023), Judging LLM-as-a-judge with MT-bench, for agreement with and without ties and for the
biases; Cohen (1960) and Krippendorff (2011), Computing Krippendorff's alpha-reliability, for the coefficients.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import combinations, permutations
from math import sqrt
from typing import Literal

TIE = "tie"
Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Share:
    """`agreed` of `of`, with Wilson's 95% interval; rates are None of nothing."""

    agreed: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.agreed / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.of:
            return None
        rate, weight = self.agreed / self.of, Z95**2 / self.of
        centre = (rate + weight / 2) / (1 + weight)
        half = Z95 * sqrt(rate * (1 - rate) / self.of + weight / (4 * self.of)) / (1 + weight)
        return centre - half, centre + half


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters of the same cases. `without_ties` counts the cases in which neither says tie; `kappa` is over all of
    them, None where chance alone would agree always."""

    with_ties: Share
    without_ties: Share
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Vote:
    """One verdict on one question's pair by a person, beside that of a judge."""

    question: str
    category: str
    turn: int
    model_a: str
    model_b: str
    person: str
    person_says: str
    judge: str
    judge_says: str


def agreement(verdicts: Iterable[tuple[str, str]]) -> Agreement:
    """Compare pairs of verdicts, each `model_a`, `model_b` or a word that begins with tie."""
    pairs = [(_one_tie(first), _one_tie(second)) for first, second in verdicts]
    decided = [(first, second) for first, second in pairs if TIE not in (first, second)]
    return Agreement(
        Share(sum(a == b for a, b in pairs), len(pairs)),
        Share(sum(a == b for a, b in decided), len(decided)),
        cohen_kappa(pairs),
    )


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement beyond chance: 1 is perfect, 0 is chance. None where it is not defined."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = (Counter(column) for column in zip(*pairs, strict=True))
    expected = sum(first[label] * second[label] for label in first) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(
    units: Iterable[Sequence[float | str]], *, metric: Literal["nominal", "interval"] = "nominal"
) -> float | None:
    """Reliability of any number of raters, some of whom may be silent. `units` holds what was said of each case; cases
    that only one rater rated say nothing. None where nothing varies or nothing was rated twice."""
    together: Counter[tuple[float | str, float | str]] = Counter()
    for values in units:
        if len(values) > 1:
            for pair in permutations(values, 2):
                together[pair] += 1 / (len(values) - 1)  # type: ignore[assignment] # a weight, not a count
    totals: defaultdict[float | str, float] = defaultdict(float)
    for (first, _), weight in together.items():
        totals[first] += weight
    n = sum(totals.values())
    if metric == "interval":
        observed = sum(weight * (float(a) - float(b)) ** 2 for (a, b), weight in together.items())
        expected = sum(2 * totals[a] * totals[b] * (float(a) - float(b)) ** 2 for a, b in combinations(totals, 2))
    else:
        observed = sum(weight for (a, b), weight in together.items() if a != b)
        expected = sum(2 * totals[a] * totals[b] for a, b in combinations(totals, 2))
    return None if not expected else 1 - (n - 1) * observed / expected


def length_bias(cases: Iterable[tuple[int, int, int | None]]) -> Share:
    """How often the longer answer won. Each case has the characters of both answers and who won: 1, 2, 0 or None;
    ties and answers of equal length say nothing."""
    counted = [(one > two) == (won == 1) for one, two, won in cases if won in (1, 2) and one != two]
    return Share(sum(counted), len(counted))


def self_preference(cases: Iterable[tuple[bool, float]]) -> float | None:
    """How much better a judge scores its own answers than the other judges score the same ones, less how much better
    it scores all others. Each case says whether the answer is the judge's own, and its score less the others' mean.
    None where one of the two has no case."""
    by_own: dict[bool, list[float]] = {True: [], False: []}
    for is_own, difference in cases:
        by_own[is_own].append(difference)
    if not all(by_own.values()):
        return None
    return sum(by_own[True]) / len(by_own[True]) - sum(by_own[False]) / len(by_own[False])


def votes_read(text: str) -> list[Vote]:
    """The joined table of people's and judges' pair votes (question_id, category, turn, model_a, model_b, human,
    human_winner, judge, judge_winner).

    The published table joined each person's vote with the judge's verdicts on both turns, without saying which is
    which. Those of one vote stand together, turn one first; only the one of the vote's own turn is kept. Raises
    ValueError with the line of a row that is not like that.
    """
    kept: list[Vote] = []
    seen: Counter[tuple[str, ...]] = Counter()
    reader = csv.DictReader(StringIO(text))
    needed = {"question_id", "turn", "model_a", "model_b", "human", "human_winner", "judge_winner"}
    if missing := needed - set(reader.fieldnames or ()):
        raise ValueError(f"line 1: the columns {', '.join(sorted(missing))} are missing.")
    rows = list(reader)
    keys = [tuple(str(row[name]) for name in ("question_id", "turn", "model_a", "model_b", "human")) for row in rows]
    is_joined = bool(rows) and set(Counter(keys).values()) == {2}
    for number, (row, key) in enumerate(zip(rows, keys, strict=True), start=2):
        seen[key] += 1
        if not key[1].isdecimal() or _one_tie(row["human_winner"]) not in ("model_a", "model_b", TIE):
            raise ValueError(f"line {number}: the turn must be a number, and the winner model_a, model_b or tie.")
        if is_joined and seen[key] != int(key[1]):
            continue
        category, judge = row.get("category") or "", row.get("judge") or "judge"
        kept.append(
            Vote(
                question=key[0],
                category=category,
                turn=int(key[1]),
                model_a=key[2],
                model_b=key[3],
                person=key[4],
                person_says=row["human_winner"],
                judge=judge,
                judge_says=row["judge_winner"],
            )
        )
    return kept


def agreement_by(votes: Iterable[Vote], *names: str) -> Mapping[tuple[object, ...], Agreement]:
    """Agreement of people and judge within each group that the fields `names` make, for example judge and turn."""
    groups: dict[tuple[object, ...], list[tuple[str, str]]] = defaultdict(list)
    for vote in votes:
        groups[tuple(getattr(vote, name) for name in names)].append((vote.person_says, vote.judge_says))
    return {key: agreement(pairs) for key, pairs in sorted(groups.items(), key=lambda item: str(item[0]))}


def _one_tie(verdict: str | None) -> str:
    words = (verdict or "").strip()
    return TIE if words.startswith(TIE) else words
