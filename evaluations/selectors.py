"""Every read of evaluations that is more than a get."""

from collections import defaultdict
from typing import cast
from uuid import UUID

from django.db.models import Avg, Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Length
from django.http import Http404

from accounts.models import Job, User
from evaluations.errors import RunNotFound
from evaluations.models import Answer, Judgment, QuestionSet, ReferenceAnswer, Run, VoteSet
from evaluations.scoring import Game, Score
from evaluations.verdicts import State, Winner
from providers.models import GeneratedText

SIDES = {Winner.A.value: 1, Winner.B.value: 2, Winner.TIE.value: 0}


def runs_of(user: User) -> QuerySet[Run]:
    """A person's own runs; an administrator sees all."""
    runs = Run.objects.select_related("question_set", "owner")
    return runs if user.is_staff else runs.filter(owner=user)


def run_of(user: User, run_id: UUID | str) -> Run:
    """By its id or its name. Raises RunNotFound."""
    runs = runs_of(user)
    try:
        run = runs.filter(pk=UUID(str(run_id))).first()
    except ValueError:
        run = runs.filter(name=run_id).first()
    if run is None:
        raise RunNotFound
    return run


def is_judged_by_itself(question_set: QuestionSet) -> bool:
    """Whether every question has scorers, and none of them needs a judge."""
    rows = list(question_set.questions.values_list("scorers", flat=True))
    kinds = {scorer["kind"] for scorers in rows for scorer in scorers}
    return bool(rows) and all(rows) and kinds.isdisjoint({"rubric", "judge"})


def run_of_or_404(user: object, run_id: UUID | str) -> Run:
    """For pages. Raises Http404."""
    try:
        return run_of(cast(User, user), run_id)
    except RunNotFound:
        raise Http404 from None


def vote_sets_of(user: User) -> QuerySet[VoteSet]:
    """A person's own files of votes; an administrator sees all."""
    found = VoteSet.objects.select_related("run")
    return found if user.is_staff else found.filter(owner=user)


def is_under_way(run: Run) -> bool:
    """Whether a worker has it, or will. A run that says so alone may have lost its worker."""
    if not run.is_busy or run.job_id is None:
        return False
    return Job.objects.filter(pk=run.job_id, state__in=(Job.State.QUEUED, Job.State.RUNNING)).exists()


def reference_versions(run: Run) -> list[int]:
    """The versions of references that the run's judgments went by, in order."""
    rows = run.judgments.filter(reference_version__gt=0).order_by("reference_version")
    return list(rows.values_list("reference_version", flat=True).distinct())


def newest_reference(run: Run) -> int:
    """The newest version of any reference of the run's questions, where its judgments went by an older one or the run
    names an older one; 0 where there is nothing newer to judge by."""
    references = ReferenceAnswer.objects.filter(question__question_set=run.question_set_id)
    newest = references.aggregate(newest=Max("version"))["newest"] or 0
    judged = run.judgments.aggregate(newest=Max("reference_version"))["newest"] or 0
    return newest if 0 < judged < newest else 0


SAME = ("question_id", "judge_id", "scorer", "model_a_id", "choice", "turn", "repeat", "game")


def judgments_under(run: Run, references: int = 0) -> QuerySet[Judgment]:
    """The run's judgments as by one version of the references: of what was judged by several, the one by the newest
    that is not newer than `references`; 0 for the newest of all."""
    rows = run.judgments.all()
    if len(reference_versions(run)) < 2:
        return rows
    newer = run.judgments.annotate(other=Coalesce("model_b_id", 0)).filter(
        other=Coalesce(OuterRef("model_b_id"), 0),
        reference_version__gt=OuterRef("reference_version"),
        **{
            name: OuterRef(name)
            for name in ("question_id", "judge_id", "scorer", "model_a_id", "choice", "turn", "repeat")
        },
        game=OuterRef("game"),
    )
    if references:
        rows, newer = rows.filter(reference_version__lte=references), newer.filter(reference_version__lte=references)
    return rows.filter(~Exists(newer))


def scores_of(run: Run, *, judge_id: int | None = None, references: int = 0) -> list[Score]:
    """Every score of the run, or of one judge, by one version of the references (0 for the newest). Judgments without
    a verdict are not among them."""
    rows = judgments_under(run, references).filter(model_b=None, state=State.OK, score__isnull=False).order_by()
    if judge_id is not None:
        rows = rows.filter(judge_id=judge_id)
    values = rows.values_list("model_a__name", "question__number", "question__category", "turn", "score")
    return [Score(model, number, category, turn, score or 0.0) for model, number, category, turn, score in values]


def games_of(run: Run, *, judge_id: int | None = None, references: int = 0) -> list[Game]:
    """Every pair of answers that was judged in both orders. A game that was judged in one order only has none."""
    rows = judgments_under(run, references).exclude(model_b=None).order_by()
    if judge_id is not None:
        rows = rows.filter(judge_id=judge_id)
    games: dict[tuple[int, int, int, str, str, int, str, int], dict[int, int | None]] = defaultdict(dict)
    values = rows.values_list(
        "judge_id", "choice", "repeat", "model_a__name", "model_b__name", "question__number", "question__category",
        "turn", "game", "state", "winner",
    )  # fmt: skip
    for judge, choice, repeat, one, two, number, category, turn, game, state, winner in values:
        key = (judge, choice, repeat, one, two or "", number, category, turn)
        games[key][game] = SIDES[winner] if state == State.OK else None
    return [Game(*key[3:], found.get(1), found.get(2)) for key, found in games.items()]


def figures_of(run: Run) -> dict[str, dict[str, float | int | None]]:
    """Of each model: answers, failures, refusals, seconds and tokens an answer, tokens a second, and what they cost."""
    rows = (
        run.answers.order_by()
        .values("model__name")
        .annotate(
            answers=Count("id"),
            latency=Avg("latency_ms"),
            input_tokens=Sum("input_tokens"),
            output_tokens=Sum("output_tokens"),
            cost=Sum("cost"),
            milliseconds=Sum("latency_ms"),
            characters=Avg(Length("text")),
            refusals=Count("id", filter=Q(is_refusal=True)),
        )
    )
    failed = dict(
        run.answers.exclude(status=GeneratedText.Status.FINISHED)
        .order_by()
        .values_list("model__name")
        .annotate(Count("id"))
    )
    found: dict[str, dict[str, float | int | None]] = {}
    for row in rows:
        seconds = (row["milliseconds"] or 0) / 1000
        found[row["model__name"]] = {
            "answers": row["answers"],
            "failed": failed.get(row["model__name"], 0),
            "refusals": row["refusals"],
            "refusal_share": row["refusals"] / row["answers"],
            "seconds": None if row["latency"] is None else row["latency"] / 1000,
            "characters": row["characters"],
            "input_tokens": row["input_tokens"],
            "output_tokens": row["output_tokens"],
            "tokens_a_second": row["output_tokens"] / seconds if row["output_tokens"] and seconds else None,
            "cost": None if row["cost"] is None else float(row["cost"]),
        }
    return found


def states_of(run: Run, references: int = 0) -> dict[str, int]:
    """How many judgments ended how."""
    return dict(judgments_under(run, references).order_by().values_list("state").annotate(Count("id")))


def cost_of(run: Run) -> float:
    """US dollars so far, answers and judgments."""
    answers = run.answers.aggregate(cost=Sum("cost"))["cost"] or 0
    judgments = run.judgments.aggregate(cost=Sum("cost"))["cost"] or 0
    return float(answers + judgments)


def self_judged(run: Run) -> set[str]:
    """The names of models that judged themselves."""
    return set(
        run.judgments.filter(judge_id=F("model_a_id")).order_by().values_list("judge__name", flat=True).distinct()
    ) | set(run.judgments.filter(judge_id=F("model_b_id")).order_by().values_list("judge__name", flat=True).distinct())


def answers_to(run: Run, question_id: int) -> QuerySet[Answer]:
    """All answers to one question, ready to be shown side by side."""
    return run.answers.filter(question_id=question_id).select_related("model").order_by("model__name", "choice", "turn")


def judgments_on(run: Run, question_id: int) -> QuerySet[Judgment]:
    return (
        run.judgments.filter(question_id=question_id)
        .select_related("judge", "model_a", "model_b")
        .order_by("turn", "model_a__name", "model_b__name", "judge__name", "repeat", "game")
    )
