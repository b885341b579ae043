"""What judges said of people's battles, and the form that has one judge them."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.admin import ReadOnly
from common.errors import TourneyError
from evaluations.battles.judging import battles_estimate, battles_judge_start
from evaluations.models import BattleJudgment
from providers.models import LanguageModel

LIMIT_DEFAULT = 100


class BattlesForm(forms.Form):
    judge = forms.ModelChoiceField(
        label=_("Judge"), queryset=LanguageModel.objects.none(), to_field_name="slug", empty_label=None
    )
    limit = forms.IntegerField(
        label=_("At most so many pairs of answers"), min_value=1, max_value=100_000, initial=LIMIT_DEFAULT
    )

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        judge = self.fields["judge"]
        assert isinstance(judge, forms.ModelChoiceField)
        judge.queryset = LanguageModel.objects.active().select_related("endpoint")


@admin.register(BattleJudgment)
class BattleJudgmentAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["battle_id", "judge", "model_a", "model_b", "turns", "game", "state", "winner", "finished_at"]
    list_filter = ["state", "judge"]
    list_select_related = ["judge", "model_a", "model_b"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """ "Add" has a judge judge; single rows are never written by hand."""
        return cast(User, request.user).has_perm("evaluations.add_battlejudgment")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """POST with `start` begins a job; without it, it only says what that would take."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = BattlesForm(request.POST or None)
        context: dict[str, Any] = self.admin_site.each_context(request) | {"form": form}
        context |= {"title": _g("Have a judge judge battles"), "opts": self.opts}
        if request.method == "POST" and form.is_valid():
            wanted = form.cleaned_data
            try:
                if "start" in request.POST:
                    battles_judge_start(owner=cast(User, request.user), **wanted)
                    messages.success(request, _g("It has begun. Its job says how far it is."))
                    return redirect(reverse("admin:evaluations_battlejudgment_changelist"))
                context["estimate"] = battles_estimate(**wanted)
            except TourneyError as error:
                form.add_error(None, str(error))
        return render(request, "admin/evaluations/judge_battles.html", context)
