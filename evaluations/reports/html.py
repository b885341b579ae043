"""A run's results as one page of HTML that needs nothing else: to send to a colleague, to read offline, to print.

What models and people wrote is escaped text here, and there is no script.
"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from common.charts.figure import Figure
from common.text import counted
from evaluations.models import Answer, Run
from evaluations.reports.tables import scorer_rows
from evaluations.scoring import Score
from providers.models import GeneratedText

STYLES = ("css/tokens.css", "css/charts.css")
# From this share on, judgments without a verdict are said first.
MANY_MISSING = 0.1
EXAMPLES = 3
EXAMPLE_LENGTH = 700


def as_html(run: Run, document: dict[str, Any], figures: dict[str, Figure], scores: list[Score]) -> str:
    """The report. `figures` are drawn into it, `scores` choose the examples."""
    models, states = document["model_results"], document["judgment_states"]
    context = {
        "run": run,
        "document": document,
        "figures": list(figures.values()),
        "styles": _styles(),
        "headline": headline(document),
        "turns": sorted({turn for row in models for turn in row["turn_scores"]}),
        "categories": sorted({name for row in models for name in row["category_breakdown"]}),
        "scorers": list(scorer_rows(document)),
        "has_games": any(judge["games"] for judge in document["judges"]["each"].values()),
        "model_count": len(models) or len(document["comparison"]["win_rates"]),
        "verdicts": {"read": states.get("ok", 0), "all": sum(states.values())},
        "missing": {state: n for state, n in states.items() if state != "ok"},
        "is_flat": len(scores) > 1 and len({score.score for score in scores}) == 1,
        "failed": {name: own["failed"] for name, own in document["generation"].items() if own["failed"]},
        "questions": len({score.question for score in scores}),
        "options": sorted(document["run"]["options"].items()),
        "examples": examples(run, scores),
        "version": settings.VERSION,
        "now": timezone.now(),
    }
    return render_to_string("evaluations/report/page.html", context)


def headline(document: dict[str, Any]) -> str:
    """Who is ahead, and how sure that is, in a sentence or two; empty where nothing was scored or played."""
    words, states = _ahead(document), document["judgment_states"]
    missing = sum(states.values()) - states.get("ok", 0)
    if words and missing > MANY_MISSING * sum(states.values()):
        return f"{words} But {missing} of {counted(sum(states.values()), 'judgment')} gave no verdict."
    return words


def _ahead(document: dict[str, Any]) -> str:
    models, played = document["model_results"], document["comparison"]["win_rates"]
    if models:
        best = models[0]
        mean, others = best["overall_score"], [row["model_name"] for row in models[1:] if row["rank"] == 1]
        words = (
            f"{best['model_name']} scores {mean['mean']:.2f} of 10 (95%: {mean['lower']:.2f} to {mean['upper']:.2f})"
        )
        if others:
            return f"{words}. The intervals do not tell it apart from {', '.join(others)}."
        return f"{words}, ahead of all others beyond the intervals." if len(models) > 1 else f"{words}."
    if played:
        return f"{played[0]['model']} wins most: {played[0]['win_rate_adjusted']:.0%}, ties counted as half."
    return ""


def examples(run: Run, scores: list[Score]) -> list[dict[str, Any]]:
    """The turns on which models differ most, each with its best and its worst answer, cut to a few lines."""
    found: dict[tuple[int, int], dict[str, list[float]]] = {}
    for score in scores:
        found.setdefault((score.question, score.turn), {}).setdefault(score.model, []).append(score.score)
    gaps = []
    for key, own in found.items():
        means = sorted(((sum(values) / len(values), name) for name, values in own.items()), reverse=True)
        if len(means) > 1 and means[0][0] > means[-1][0]:
            gaps.append((means[0][0] - means[-1][0], key, means[0], means[-1]))
    gaps.sort(key=lambda gap: (-gap[0], gap[1]))
    shown = []
    for _, (number, turn), best, worst in gaps[:EXAMPLES]:
        question = run.question_set.questions.get(number=number)
        sides = [
            {"model": name, "score": score, "text": _said(run, number, turn, name)} for score, name in (best, worst)
        ]
        prompt = _cut(question.turns[turn - 1])
        shown.append({"number": number, "turn": turn, "category": question.category, "prompt": prompt, "sides": sides})
    return shown


def _said(run: Run, number: int, turn: int, model: str) -> str:
    rows = Answer.objects.filter(run=run, question__number=number, model__name=model, turn=turn, choice=0)
    return _cut(rows.filter(status=GeneratedText.Status.FINISHED).values_list("text", flat=True).first() or "")


def _cut(text: str) -> str:
    plain = text.strip()
    return plain if len(plain) <= EXAMPLE_LENGTH else f"{plain[:EXAMPLE_LENGTH].rstrip()} …"


def _styles() -> SafeString:
    """The colours of the pages, so that charts look here as they do there; our own files, with nobody's words."""
    files = [finders.find(name) for name in STYLES]
    return mark_safe("\n".join(Path(file).read_text(encoding="utf-8") for file in files if isinstance(file, str)))
