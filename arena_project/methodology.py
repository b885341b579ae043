"""How the leaderboard is computed and who meets whom: the one page that needs both battles and the leaderboard."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from battles.rates import sampling_rates
from leaderboard.views import shown_or_404


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    context = {
        "shown": shown_or_404(request),
        "badge": request.build_absolute_uri(reverse("leaderboard:badge", args=["MODEL"])),
        "rates": sampling_rates(),
    }
    return render(request, "leaderboard/methodology.html", context)
