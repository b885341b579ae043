"""A run's results as CSV, and as a summary in Markdown. The one that is for reading is in html.py."""

from collections.abc import Iterator
from typing import Any

from common.csv import csv_lines
from common.text import counted

GENERATION = (
    "answers", "failed", "refusals", "seconds", "input_tokens", "output_tokens", "tokens_a_second", "cost",
    "peak_memory", "peak_gpu_memory",
)  # fmt: skip
HEADER = ("rank", "model", "mean", "lower", "upper", "std", "count")


def as_csv(document: dict[str, Any]) -> Iterator[str]:
    """One line a model: the figures of its scores, its turns and categories, and of its games."""
    models = document["model_results"]
    turns = sorted({turn for model in models for turn in model["turn_scores"]})
    categories = sorted({name for model in models for name in model["category_breakdown"]})
    kinds = sorted({kind for own in document["scorers"].values() for kind in own["matches"]})
    criteria = sorted({name for own in document["scorers"].values() for name in own["criteria"]})
    games = {row["model"]: row for row in document["comparison"]["win_rates"]}
    names = [model["model_name"] for model in models] + [
        name for name in games if name not in {model["model_name"] for model in models}
    ]
    by_name = {model["model_name"]: model for model in models}
    header = [*HEADER, *(f"turn_{turn}" for turn in turns), *categories, "wins", "losses", "ties", "win_rate_adjusted"]
    header += [*(f"{kind}_matched" for kind in kinds), *(f"{name}_rating" for name in criteria), *GENERATION]
    rows = []
    for name in names:
        model, game = by_name.get(name), games.get(name, {})
        overall = model["overall_score"] if model else {}
        row: list[object] = [model["rank"] if model else "", name]
        row += [overall.get(column, "") for column in ("mean", "lower", "upper", "std", "count")]
        row += [model["turn_scores"].get(turn, {}).get("mean", "") if model else "" for turn in turns]
        row += [model["category_breakdown"].get(one, {}).get("mean", "") if model else "" for one in categories]
        row += [game.get(column, "") for column in ("wins", "losses", "ties", "win_rate_adjusted")]
        own = document["scorers"].get(name, {"matches": {}, "criteria": {}})
        matches = [own["matches"].get(kind) for kind in kinds]
        row += [match["passed"] / match["of"] if match else "" for match in matches]
        row += [own["criteria"].get(one, {}).get("mean", "") for one in criteria]
        row += [document["generation"].get(name, {}).get(column, "") for column in GENERATION]
        rows.append(["" if cell is None else cell for cell in row])
    return csv_lines(header, rows)


def as_markdown(document: dict[str, Any]) -> str:
    """A summary to send: what was run, the tables, how the judges did, and what to hold against the figures."""
    run, parts = document["run"], []
    parts.append(f"# {_cell(run['name'])}\n")
    parts.append(
        f"Question set {_cell(run['question_set'])}, mode {run['mode']}, judged by "
        f"{', '.join(map(_cell, run['judges'])) or 'nobody'}. Cost: {run['cost']:.4f} US dollars.\n"
    )
    models = document["model_results"]
    if models:
        categories = sorted({name for model in models for name in model["category_breakdown"]})
        turns = sorted({turn for model in models for turn in model["turn_scores"]})
        parts.append("## Scores from 1 to 10\n")
        header = ["Rank", "Model", "Mean", "95% interval", "Std", *(f"Turn {turn}" for turn in turns), *categories]
        rows = [
            [
                str(model["rank"]),
                model["model_name"],
                _two(model["overall_score"]["mean"]),
                f"{_two(model['overall_score']['lower'])} to {_two(model['overall_score']['upper'])}",
                _two(model["overall_score"]["std"]),
                *(_two(model["turn_scores"].get(turn, {}).get("mean")) for turn in turns),
                *(_two(model["category_breakdown"].get(one, {}).get("mean")) for one in categories),
            ]
            for model in models
        ]
        parts.append(_table(header, rows))
        parts.append("Models share a rank where the intervals do not tell them apart.\n")
    if document["generation"]:
        parts.append("## Answers\n")
        header = [
            "Model", "Answers", "Failed", "Refusals", "Seconds each", "Tokens a second", "Cost in dollars",
            "Peak memory in MB",
        ]  # fmt: skip
        parts.append(_table(header, [_answered(name, own) for name, own in document["generation"].items()]))
    if document["scorers"]:
        parts.append("## Scorers\n")
        parts.append(_table(["Model", "Scorer", "Result"], [list(row) for row in scorer_rows(document)]))
    played = document["comparison"]["win_rates"]
    if played:
        parts.append("## Games\n")
        parts.append(
            _table(
                ["Model", "Wins", "Losses", "Ties", "Win rate, a tie is half"],
                [
                    [
                        row["model"],
                        str(row["wins"]),
                        str(row["losses"]),
                        str(row["ties"]),
                        _share(row["win_rate_adjusted"]),
                    ]
                    for row in played
                ],
            )
        )
        parts.append("A game is won where the judge says so in both orders; all else is a tie.\n")
    parts.append("## Judges\n")
    parts.append(
        _table(
            ["Judge", "Mean score", "Flipped by order", "Prefers the first", "Longer wins", "Prefers itself by"],
            [
                [
                    name,
                    _two(own["mean"]),
                    _share(own["flipped_share"]),
                    _share(own["first_shown_share"]),
                    _share(own["longer_wins_share"]),
                    _two(own["self_preference"]),
                ]
                for name, own in document["judges"]["each"].items()
            ],
        )
    )
    alpha = document["judges"]["krippendorff_alpha"]
    if alpha is not None:
        parts.append(f"Krippendorff's alpha over the judges' scores: {alpha:.3f}.\n")
    missing = {state: count for state, count in document["judgment_states"].items() if state != "ok"}
    if missing:
        said = ", ".join(f"{count} {state}" for state, count in sorted(missing.items()))
        parts.append(f"Judgments without a verdict, which are in no figure: {said}.\n")
    if document["self_judged"]:
        parts.append(f"These models judged themselves, too: {', '.join(map(_cell, document['self_judged']))}.\n")
    return "\n".join(parts)


def scorer_rows(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Model, what scored it, and how it did, in words."""
    for model, own in document["scorers"].items():
        for kind, match in own["matches"].items():
            yield model, kind, f"{match['passed']} of {match['of']}, {match['passed'] / match['of']:.1%}"
        for criterion, mean in own["criteria"].items():
            yield model, criterion, f"{mean['mean']:.2f} of {mean['highest']}, {counted(mean['count'], 'rating')}"


def _answered(name: str, own: dict[str, Any]) -> list[str]:
    return [
        name,
        str(own["answers"]),
        str(own["failed"]),
        str(own["refusals"]),
        _two(own["seconds"]),
        _two(own["tokens_a_second"]),
        "" if own["cost"] is None else f"{own['cost']:.4f}",
        megabytes(own),
    ]


def megabytes(own: dict[str, Any]) -> str:
    """The peak memory of a model's server, with what a GPU held of it; empty where nothing is known."""
    process, gpu = own["peak_memory"], own.get("peak_gpu_memory")
    parts = [f"{process / 1e6:,.0f}"] if process else []
    return ", ".join([*parts, f"{gpu / 1e6:,.0f} on a GPU"] if gpu else parts)


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _cell(text: str) -> str:
    """Safe within a table of Markdown and within HTML that is made of it."""
    plain = " ".join(text.split())
    for character in "\\`*_[]<>|":
        plain = plain.replace(character, f"\\{character}")
    return plain


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
