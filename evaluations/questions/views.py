"""The pages of question sets: which there are, and what one asks."""

from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.models import User
from evaluations.models import QuestionSet

QUESTIONS_A_PAGE = 20


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    sets = QuestionSet.objects.annotate(
        question_count=Count("questions"), category_count=Count("questions__category", distinct=True)
    )
    return render(request, "evaluations/sets.html", {"sets": sets.order_by("name", "pk")})


@login_required
@require_safe
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    """A set's questions, of one `category` where it is asked for, with their scorers and references."""
    found = get_object_or_404(QuestionSet, slug=slug)
    counts = found.questions.order_by("category").values_list("category").annotate(Count("pk"))
    wanted = request.GET.get("category", "")
    questions = found.questions.prefetch_related("references")
    if wanted:
        questions = questions.filter(category=wanted)
    context: dict[str, Any] = {
        "set": found,
        "counts": list(counts),
        "category": wanted,
        "may_delete": cast(User, request.user).is_staff and not found.runs.exists(),
        "page": Paginator(questions, QUESTIONS_A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "evaluations/set.html", context)
