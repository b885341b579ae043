"""Votes and voters in the admin: why a vote does not count, and the actions that change it, each with a reason."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _

from accounts.errors import ReasonMissing
from accounts.models import User
from battles import services
from battles.models import Preference, Voter
from common.admin import ReadOnly
from common.errors import TourneyError
from common.vote_reasons import reasons_shown


class ReasonActionForm(ActionForm):
    """The bar of actions, with a field for the reason."""

    reason = forms.CharField(label=_("Reason"), required=False, max_length=200)


def reason_of(request: HttpRequest) -> str:
    return request.POST.get("reason", "")


@admin.register(Preference)
class PreferenceAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["created_at", "voter", "said", "exclusion", "is_reviewed", "seconds", "why", "battle"]
    list_filter = ["exclusion", "is_reviewed", "choice", "created_at"]
    list_select_related = ["battle", "voter", "winner"]
    search_fields = ["battle__id", "voter__username"]
    action_form = ReasonActionForm
    actions = ["leave_out", "count_again"]
    show_full_result_count = False

    def has_exclude_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions; named by their `permissions`."""
        return request.user.has_perm("battles.change_preference")

    @admin.display(description=_("Choice"), ordering="choice")
    def said(self, preference: Preference) -> str:
        return preference.winner.label.upper() if preference.winner else preference.get_choice_display()

    @admin.display(description=_("Decided in"), ordering="decided_ms")
    def seconds(self, preference: Preference) -> str:
        return "-" if preference.decided_ms is None else f"{preference.decided_ms / 1000:.1f} s"

    @admin.display(description=_("Reasons"))
    def why(self, preference: Preference) -> str:
        return ", ".join(reason.label for reason in reasons_shown(preference.reasons))

    @admin.action(description=_("Leave out of the ratings, for the reason beside this"), permissions=["exclude"])
    def leave_out(self, request: HttpRequest, rows: QuerySet[Preference]) -> None:
        self._act(request, rows, services.preferences_exclude, _g("Left out: %(number)d."))

    @admin.action(description=_("Count again, for the reason beside this"), permissions=["exclude"])
    def count_again(self, request: HttpRequest, rows: QuerySet[Preference]) -> None:
        self._act(request, rows, services.preferences_count, _g("Counted again: %(number)d."))

    def _act(self, request: HttpRequest, rows: QuerySet[Preference], service: Any, words: str) -> None:
        ids = list(rows.order_by().values_list("pk", flat=True))
        try:
            number = service(ids=ids, reason=reason_of(request), actor=cast(User, request.user))
        except ReasonMissing as error:
            messages.error(request, str(error))
        else:
            messages.success(request, words % {"number": number} + " " + _g("New ratings are on the way."))


class FlaggedFilter(admin.SimpleListFilter):
    title = _("flag")
    parameter_name = "flagged"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _g("Flagged")), ("no", _g("Not flagged"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("yes", "no"):
            return queryset
        return queryset.filter(flagged_at__isnull=self.value() == "no")


@admin.register(Voter)
class VoterAdmin(ReadOnly, admin.ModelAdmin):
    """People who have voted, how many of their votes count, and the flag that takes all of them out."""

    list_display = ["username", "votes", "left_out", "flagged_at", "flag_reason", "last_login"]
    list_filter = [FlaggedFilter]
    search_fields = ["username", "email"]
    fields = ["username", "email", "date_joined", "last_login", "flagged_at", "flag_reason"]
    action_form = ReasonActionForm
    actions = ["flag", "unflag"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = {"vote_count": Count("preferences"), "out": Count("preferences", filter=~Q(preferences__exclusion=""))}
        rows = super().get_queryset(request).annotate(**counts)
        return cast(QuerySet[Any], rows.filter(vote_count__gt=0))

    def has_flag_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("battles.change_preference")

    @admin.display(description=_("Votes"), ordering="vote_count")
    def votes(self, voter: Any) -> int:
        return int(voter.vote_count)

    @admin.display(description=_("Left out"), ordering="out")
    def left_out(self, voter: Any) -> int:
        return int(voter.out)

    @admin.action(description=_("Flag: their votes do not count, for the reason beside this"), permissions=["flag"])
    def flag(self, request: HttpRequest, rows: QuerySet[Voter]) -> None:
        self._each(request, rows, services.voter_flag, _g("Flagged: %(number)d. Their votes are being left out."))

    @admin.action(description=_("Take the flag back, for the reason beside this"), permissions=["flag"])
    def unflag(self, request: HttpRequest, rows: QuerySet[Voter]) -> None:
        self._each(request, rows, services.voter_unflag, _g("No longer flagged: %(number)d."))

    def _each(self, request: HttpRequest, rows: QuerySet[Voter], service: Any, words: str) -> None:
        voters = list(rows)
        try:
            for voter in voters:
                service(voter=voter, reason=reason_of(request), actor=cast(User, request.user))
        except TourneyError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, words % {"number": len(voters)})
