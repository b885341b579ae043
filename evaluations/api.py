"""The same from Python, for notebooks:

    from evaluations.api import run_evaluation
    results = await run_evaluation(models=["smollm2-135m"], judges=["smollm2-135m"], max_questions=2)
    results.frame()           # a pandas data frame: one row a model
    results.frame("scores")   # one row a score; "games" and "answers" are there, too
    results.document          # what results.json holds
    await results.asave("results")

Django must be set up first (`manage.py shell` and `django.setup()` do it). Without pandas the same rows are there as
lists of dicts: `results.models`, `results.scores`, `results.games`, `results.answers`.
"""

import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from asgiref.sync import sync_to_async
from django.db.models import Q

from accounts.models import User
from common.charts.figure import WIDE, Figure, svg_file
from common.charts.png import png
from evaluations.battles.agreement import battle_agreement
from evaluations.engine import Counts
from evaluations.errors import EvaluationInvalid
from evaluations.models import QuestionSet, Run
from evaluations.questions.loading import OWN_SET
from evaluations.reports.figures import figures_of
from evaluations.reports.html import as_html
from evaluations.reports.tables import as_csv, as_markdown
from evaluations.results import results
from evaluations.selectors import games_of, scores_of
from evaluations.services import battles_judge, run_create, run_do, run_export
from providers.models import LanguageModel

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Results:
    """What came of a run. Each part is read from the database once."""

    run: Run

    @cached_property
    def document(self) -> dict[str, Any]:
        return results(self.run)

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """One row a model: its rank, means, turns, categories, and how it answered."""
        return [
            {"model": row["model_name"], "rank": row["rank"]}
            | row["overall_score"]
            | {f"turn_{turn}": mean["mean"] for turn, mean in row["turn_scores"].items()}
            | {name: mean["mean"] for name, mean in row["category_breakdown"].items()}
            | row["generation"]
            for row in self.document["model_results"]
        ]

    @cached_property
    def scores(self) -> list[dict[str, Any]]:
        """One row a score: model, question, category, turn, score."""
        names = ("model", "question", "category", "turn", "score")
        return [{name: getattr(score, name) for name in names} for score in scores_of(self.run)]

    @cached_property
    def games(self) -> list[dict[str, Any]]:
        """One row a game: who met on what, and who won, 1 or 2, 0 for a tie, None where a verdict is missing."""
        names = ("model_1", "model_2", "question", "category", "turn", "outcome")
        return [{name: getattr(game, name) for name in names} for game in games_of(self.run)]

    @cached_property
    def answers(self) -> list[dict[str, Any]]:
        """One row an answer: model, question, category, choice, turn, text, status, seconds, tokens, cost."""
        rows = self.run.answers.order_by("model__name", "question__number", "choice", "turn")
        names = ("model__name", "question__number", "question__category", "choice", "turn", "text", "status")
        figures = ("latency_ms", "input_tokens", "output_tokens", "cost")
        return [
            dict(zip(("model", "question", "category", *names[3:]), row[: len(names)], strict=True))
            | {
                "seconds": None if row[-4] is None else row[-4] / 1000,
                "input_tokens": row[-3],
                "output_tokens": row[-2],
                "cost": None if row[-1] is None else float(row[-1]),
            }
            for row in rows.values_list(*names, *figures)
        ]

    def frame(self, of: Literal["models", "scores", "games", "answers"] = "models") -> "pandas.DataFrame":
        """Those rows as a data frame. Raises EvaluationInvalid where pandas is not installed."""
        if of not in ("models", "scores", "games", "answers"):
            raise EvaluationInvalid("A data frame is of models, scores, games or answers.")
        try:
            import pandas
        except ImportError:
            raise EvaluationInvalid("Data frames need pandas: `pip install pandas`.") from None
        return pandas.DataFrame(getattr(self, of))

    @cached_property
    def figures(self) -> dict[str, Figure]:
        return figures_of(scores_of(self.run))

    def save(self, folder: Path | str) -> list[Path]:
        """Write report.html, results.json, scores.csv, summary.md, the charts as SVG and PNG, and FastChat's files;
        return them. What is there under the same names is written anew."""
        folder = Path(folder)
        (folder / "charts").mkdir(parents=True, exist_ok=True)
        texts = {
            "results.json": json.dumps(self.document, indent=2, ensure_ascii=False) + "\n",
            "scores.csv": "".join(as_csv(self.document)),
            "summary.md": as_markdown(self.document),
            "report.html": as_html(self.run, self.document, self.figures, scores_of(self.run)),
        }
        files = {name: text.encode() for name, text in texts.items()}
        for name, figure in self.figures.items():
            drawn = svg_file(figure, figure.widths[-1] if len(figure.widths) == 1 else WIDE)
            files |= {f"charts/{name}.svg": drawn.encode(), f"charts/{name}.png": png(drawn)}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return [*(folder / name for name in files), *run_export(run=self.run, folder=folder / "fastchat")]

    async def asave(self, folder: Path | str) -> list[Path]:
        """The same from an event loop."""
        return await sync_to_async(self.save, thread_sensitive=False)(folder)


async def run_evaluation(
    *,
    models: list[str],
    judges: list[str],
    mode: str = Run.Mode.SINGLE,
    baseline: str = "",
    question_set: str = "",
    name: str = "",
    **options: Any,
) -> Results:
    """Run an evaluation to its end. Models and judges are slugs or names; `options` are those of
    `evaluations.options.Options`, for example max_questions. Raises TourneyError."""
    return await sync_to_async(
        partial(_evaluate, models, judges, mode, baseline, question_set, name, options), thread_sensitive=False
    )()


def _evaluate(
    models: list[str], judges: list[str], mode: str, baseline: str, slug: str, name: str, options: dict[str, Any]
) -> Results:
    run = run_create(
        owner=owner(),
        name=name or free_name(),
        question_set=question_set(slug),
        models=[model(one) for one in models],
        judges=[model(one) for one in judges],
        mode=mode,
        baseline=model(baseline) if baseline else None,
        options=options,
    )

    def tell(counts: Counts) -> None:
        """Nobody watches."""

    run_do(run_id=run.pk, tell=tell)
    run.refresh_from_db()
    found = Results(run)
    # Read here and now: in a notebook's event loop Django would refuse to ask the database.
    _ = found.document, found.models, found.scores, found.games, found.answers, found.figures
    return found


def model(name: str) -> LanguageModel:
    """By slug or name. Raises EvaluationInvalid."""
    found = LanguageModel.objects.select_related("endpoint").filter(Q(slug=name) | Q(name=name)).first()
    if found is None:
        raise EvaluationInvalid(f"There is no model {name}. `manage.py mtbench --list-models` lists them.")
    return found


def question_set(slug: str = "") -> QuestionSet:
    """By slug; without one our own, or the only one. Raises EvaluationInvalid."""
    sets = QuestionSet.objects.all()
    found = list(sets.filter(slug=slug) if slug else sets)
    if len(found) == 1:
        return found[0]
    own = [one for one in found if one.slug == OWN_SET]
    if own:
        return own[0]
    if slug or not found:
        raise EvaluationInvalid(f"There is no question set {slug}; `manage.py questions_import` makes one.")
    raise EvaluationInvalid(f"Name one of the question sets: {', '.join(one.slug for one in found)}.")


def owner() -> User:
    """The first administrator, made without a password where there is none yet."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return found or User.objects.create_superuser("admin", email="", password=None)


def free_name() -> str:
    """A name that no run has."""
    number = Run.objects.count() + 1
    while Run.objects.filter(name=f"run-{number}").exists():
        number += 1
    return f"run-{number}"


async def judge_battles(*, judge: str, limit: int | None = None) -> dict[str, dict[str, Any]]:
    """Have a judge judge the battles that people voted on and share, and say how far judges agree with people, as
    `evaluations.battles.agreement.battle_agreement` describes it. Raises TourneyError."""

    def judged() -> dict[str, dict[str, Any]]:
        battles_judge(owner=owner(), judge=model(judge), limit=limit)
        return battle_agreement()

    return await sync_to_async(judged, thread_sensitive=False)()
