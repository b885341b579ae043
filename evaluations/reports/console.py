"""A run's tables as text for a terminal."""

from collections.abc import Sequence

from evaluations.models import Run
from evaluations.reports.tables import scorer_rows
from evaluations.scored import peaks_of, scorers_of
from evaluations.scoring import Mean, games_table, orders, scores_table
from evaluations.selectors import figures_of, games_of, scores_of, states_of
from evaluations.verdicts import State


def summary(run: Run) -> str:
    """The tables of scores and of games, whichever there are, and what has no verdict."""
    parts = []
    scores, games = scores_of(run), games_of(run)
    if scores:
        lines = scores_table(scores)
        categories = sorted({category for line in lines for category in line.categories})
        turns = sorted({turn for line in lines for turn in line.turns})
        header = ["rank", "model", "mean", "95%", "std", *(f"turn {turn}" for turn in turns), *categories]
        rows = [
            [
                str(line.rank),
                line.model,
                f"{line.overall.mean:.2f}",
                f"{line.overall.lower:.2f}-{line.overall.upper:.2f}",
                "" if line.overall.std is None else f"{line.overall.std:.2f}",
                *(_short(line.turns.get(turn)) for turn in turns),
                *(_short(line.categories.get(category)) for category in categories),
            ]
            for line in lines
        ]
        parts.append(table(header, rows))
    if games:
        played = games_table(games, baseline=run.baseline.name if run.baseline else None)
        parts.append(
            table(
                ["model", "wins", "losses", "ties", "win rate", "ties as half"],
                [
                    [
                        line.model,
                        str(line.wins),
                        str(line.losses),
                        str(line.ties),
                        f"{line.win_rate:.1%}",
                        f"{line.win_rate_adjusted:.1%}",
                    ]
                    for line in played
                ],
            )
        )
        both = orders(games)
        parts.append(
            f"{both.games} games: {both.consistent} the same in both orders, {both.flipped} flipped, "
            f"{both.half_ties} a tie in one order, {both.errors} without a verdict\n"
        )
    generation, peaks = figures_of(run), peaks_of(run)
    if generation:
        kinds = {"process": "peak MB"} | ({"gpu": "GPU MB"} if any("gpu" in own for own in peaks.values()) else {})
        rows = [
            [
                name,
                str(row["answers"]),
                str(row["failed"]),
                _number(row["seconds"]),
                _number(row["tokens_a_second"]),
                "" if row["cost"] is None else f"{row['cost']:.4f}",
                *(_number(peaks.get(name, {}).get(kind, 0) / 1e6, 0) if name in peaks else "" for kind in kinds),
            ]
            for name, row in sorted(generation.items())
        ]
        header = ["model", "answers", "failed", "seconds each", "tokens/s", "US dollars", *kinds.values()]
        parts.append(table(header, rows))
    own = list(scorer_rows({"scorers": scorers_of(run)}))
    if own:
        parts.append(table(["model", "scorer", "result"], own))
    missing = {state: count for state, count in states_of(run).items() if state != State.OK}
    if missing:
        parts.append("No verdict: " + ", ".join(f"{count} {state}" for state, count in sorted(missing.items())) + "\n")
    return "\n".join(parts) or "There are no judgments yet.\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need; all but the model's at the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if name == "model" else cell.rjust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        ).rstrip()
        for row in [header, *rows]
    ]
    return "\n".join(lines) + "\n"


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _short(mean: Mean | None) -> str:
    return "" if mean is None else f"{mean.mean:.2f}"
