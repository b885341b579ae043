"""Reviews of the votes in the admin: scores to look at, no verdicts."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _

from common.admin import ReadOnly
from leaderboard.models import Review, VoterScore


def table(heads: list[str], rows: list[tuple[Any, ...]]) -> SafeString | str:
    """An HTML table; a dash where there are no rows."""
    if not rows:
        return "-"
    head = format_html_join("", "<th scope=col>{}</th>", ((text,) for text in heads))
    cells = (format_html_join("", "<td>{}</td>", ((cell,) for cell in row)) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", ((line,) for line in cells))
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, body)


@admin.register(Review)
class ReviewAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["computed_at", "votes", "left_out", "odd", "bursts_found", "took"]
    fields = ["computed_at", "votes", "left_out", "took", "with_and_without", "in_bursts"]
    readonly_fields = ["took", "with_and_without", "in_bursts"]

    @admin.display(description=_("Took"))
    def took(self, review: Review) -> str:
        return f"{review.seconds:.1f} s"

    @admin.display(description=_("Voters who stand out"))
    def odd(self, review: Review) -> str:
        return str(review.scores.filter(q__lt=VoterScore.ODD).count()) if review.scores.exists() else "-"

    @admin.display(description=_("Bursts"))
    def bursts_found(self, review: Review) -> int:
        return len(review.bursts)

    @admin.display(description=_("Ratings without and with the votes that are left out"))
    def with_and_without(self, review: Review) -> SafeString | str:
        heads = [_g("Model"), _g("Votes that count"), _g("All votes"), _g("Left out")]
        return table(heads, [(r["model"], r["counted"], r["all"], r["left_out"]) for r in review.ratings])

    @admin.display(description=_("Bursts of ten minutes"))
    def in_bursts(self, review: Review) -> SafeString | str:
        heads = [_g("Of"), _g("From"), _g("Votes"), _g("Expected"), _g("Chance")]
        rows = [
            (self._subject(r), r["start"][:16].replace("T", " "), r["votes"], r["expected"], f"{r['p']:.2g}")
            for r in review.bursts
        ]
        return table(heads, rows)

    def _subject(self, row: dict[str, Any]) -> SafeString | str:
        if row["kind"] == "model":
            return _g("wins of %(model)s") % {"model": row["of"]}
        address = reverse("admin:accounts_user_change", args=[row["of"]])
        return format_html('<a href="{}">{}</a>', address, _g("voter %(id)s") % {"id": row["of"]})


class OddFilter(admin.SimpleListFilter):
    title = _("stands out")
    parameter_name = "odd"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _g("Yes"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(q__lt=VoterScore.ODD) if self.value() else queryset


@admin.register(VoterScore)
class VoterScoreAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["voter", "decided", "agreement", "chance", "among_all", "is_odd"]
    list_filter = [OddFilter]
    list_select_related = ["voter"]
    search_fields = ["voter__username"]

    @admin.display(description=_("Agreement (z)"), ordering="z")
    def agreement(self, score: VoterScore) -> str:
        return f"{score.z:+.2f}"

    @admin.display(description=_("Chance of as much disagreement"), ordering="p")
    def chance(self, score: VoterScore) -> str:
        return f"{score.p:.2g}"

    @admin.display(description=_("With regard to all voters (q)"), ordering="q")
    def among_all(self, score: VoterScore) -> str:
        return f"{score.q:.2g}"

    @admin.display(description=_("Stands out"), boolean=True)
    def is_odd(self, score: VoterScore) -> bool:
        return score.q < VoterScore.ODD
