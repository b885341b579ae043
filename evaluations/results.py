"""A run's results as one document, as JSON may hold it."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from evaluations.agreement import krippendorff_alpha, length_bias, self_preference
from evaluations.models import Run
from evaluations.scored import peaks_of, scorers_of
from evaluations.scoring import Game, Mean, Score, games_table, orders, paired_difference, scores_table, spread
from evaluations.selectors import cost_of, figures_of, games_of, scores_of, self_judged, states_of
from leaderboard.statistics import bradley_terry
from leaderboard.statistics.types import TIE, A, B, Counts


def results(run: Run, *, references: int = 0) -> dict[str, Any]:
    """Everything that the run says, as JSON may hold it. Shares are from 0 to 1, times in seconds, cost in dollars,
    memory in bytes. `references` is the version of the references that the judgments are to go by, 0 for the newest
    of each."""
    scores, games = scores_of(run, references=references), games_of(run, references=references)
    peaks = peaks_of(run)
    figures = {name: own | _memory(peaks.get(name, {})) for name, own in sorted(figures_of(run).items())}
    lines = scores_table(scores)
    played = games_table(games, baseline=run.baseline.name if run.baseline else None)
    return {
        "run": {
            "name": run.name,
            "id": str(run.pk),
            "question_set": run.question_set.slug,
            "mode": run.mode,
            "status": run.status,
            "judges": list(run.judges.order_by("name").values_list("name", flat=True)),
            "options": run.options,
            "created_at": run.created_at.isoformat(),
            "finished_at": run.finished_at.isoformat() if run.finished_at else None,
            "cost": cost_of(run),
        },
        "model_results": [
            {
                "model_name": line.model,
                "rank": line.rank,
                "overall_score": _figures(line.overall),
                "turn_scores": {str(turn): _figures(mean) for turn, mean in line.turns.items()},
                "category_breakdown": {name: _figures(mean) for name, mean in line.categories.items()},
                "generation": figures.get(line.model, {}),
            }
            for line in lines
        ],
        "generation": figures,
        "comparison": {
            "overall_ranking": [{"model": line.model, "score": line.overall.mean, "rank": line.rank} for line in lines],
            "win_rates": [
                {
                    "model": line.model,
                    "wins": line.wins,
                    "losses": line.losses,
                    "ties": line.ties,
                    "win_rate": line.win_rate,
                    "win_rate_adjusted": line.win_rate_adjusted,
                }
                for line in played
            ],
            "bradley_terry": ratings(games),
        },
        "judges": judges(run, references),
        "scorers": scorers_of(run, references),
        "judgment_states": states_of(run, references),
        "self_judged": sorted(self_judged(run)),
    }


def judges(run: Run, references: int = 0) -> dict[str, Any]:
    """How each judge judged, and how far they agree."""
    rows = run.judges.order_by("name").values_list("pk", "name")
    by_judge = {name: scores_of(run, judge_id=pk, references=references) for pk, name in rows}
    found: dict[str, Any] = {}
    for pk, name in rows:
        own_games = games_of(run, judge_id=pk, references=references)
        swapped = orders(own_games)
        found[name] = {
            "scores": len(by_judge[name]),
            "mean": float(np.mean([score.score for score in by_judge[name]])) if by_judge[name] else None,
            "spread_of_repeats": spread(by_judge[name]),
            "self_preference": self_preference(_self_cases(name, by_judge)),
            "games": swapped.games,
            "flipped_share": swapped.flipped_share,
            "first_shown_share": swapped.first_share,
            "longer_wins_share": length_bias(_lengths(run, own_games)).rate if own_games else None,
        }
    units: dict[tuple[str, int, int], list[float | str]] = defaultdict(list)
    for own in by_judge.values():
        for key, value in _means(own).items():
            units[key].append(value)
    return {"each": found, "krippendorff_alpha": krippendorff_alpha(units.values(), metric="interval")}


def ratings(games: list[Game]) -> list[dict[str, Any]]:
    """Bradley-Terry ratings from the games that both orders decide; [] where there is none."""
    names = sorted({name for game in games if game.outcome is not None for name in (game.model_1, game.model_2)})
    if not names:
        return []
    place = {name: index for index, name in enumerate(names)}
    decided = [game for game in games if game.outcome is not None]
    counts = Counts.of(
        len(names),
        [place[game.model_1] for game in decided],
        [place[game.model_2] for game in decided],
        [{0: TIE, 1: A, 2: B}[game.outcome or 0] for game in decided],
    )
    fitted = bradley_terry.fit(counts)
    rows = [
        {"model": name, "rating": fitted.ratings[i], "lower": fitted.lower[i], "upper": fitted.upper[i]}
        for i, name in enumerate(names)
    ]
    rows = [{key: _finite(value) for key, value in row.items()} for row in rows]
    return sorted(rows, key=lambda row: -(row["rating"] or -math.inf))


def comparison(first: Run, second: Run) -> list[dict[str, Any]]:
    """For each model that both runs have, or the one model of each: how much its scores differ on the questions that
    both runs asked. `is_significant` where the 95% interval leaves out zero."""
    groups = []
    for run in (first, second):
        by_model: dict[str, list[Score]] = defaultdict(list)
        for score in scores_of(run):
            by_model[score.model].append(score)
        groups.append(by_model)
    pairs = [(name, name) for name in sorted(groups[0].keys() & groups[1].keys())]
    if not pairs and len(groups[0]) == len(groups[1]) == 1:
        pairs = [(next(iter(groups[0])), next(iter(groups[1])))]
    rows = []
    for one, two in pairs:
        try:
            difference, lower, upper = paired_difference(groups[0][one], groups[1][two])
        except ValueError:
            continue
        rows.append(
            {
                "first": one,
                "second": two,
                "difference": difference,
                "lower": lower,
                "upper": upper,
                "is_significant": lower > 0 or upper < 0,
            }
        )
    return rows


def _memory(peaks: dict[str, int]) -> dict[str, float | int | None]:
    return {"peak_memory": peaks.get("process"), "peak_gpu_memory": peaks.get("gpu")}


def _figures(mean: Mean) -> dict[str, Any]:
    return {
        "mean": mean.mean, "std": mean.std, "lower": mean.lower, "upper": mean.upper, "count": mean.count,
    }  # fmt: skip


def _means(scores: list[Score]) -> dict[tuple[str, int, int], float]:
    groups: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for score in scores:
        groups[score.model, score.question, score.turn].append(score.score)
    return {key: sum(values) / len(values) for key, values in groups.items()}


def _self_cases(judge: str, by_judge: dict[str, list[Score]]) -> Iterator[tuple[bool, float]]:
    others = [_means(scores) for name, scores in by_judge.items() if name != judge]
    for key, score in _means(by_judge[judge]).items():
        theirs = [means[key] for means in others if key in means]
        if theirs:
            yield key[0] == judge, score - sum(theirs) / len(theirs)


def _lengths(run: Run, games: list[Game]) -> Iterator[tuple[int, int, int | None]]:
    rows = run.answers.filter(choice=0).order_by().values_list("model__name", "question__number", "turn", "text")
    lengths = {(model, number, turn): len(text) for model, number, turn, text in rows}
    for game in games:
        one, two = (lengths.get((name, game.question, game.turn)) for name in (game.model_1, game.model_2))
        if one is not None and two is not None:
            yield one, two, game.outcome


def _finite(value: Any) -> Any:
    """None for what JSON cannot say."""
    if not isinstance(value, float | np.floating):
        return value
    return float(value) if math.isfinite(value) else None
