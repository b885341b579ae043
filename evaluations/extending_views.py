"""The page on which models or judges are added to a run that is over, and the address that deletes one."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import TourneyError
from common.pages import staff_only
from evaluations import services
from evaluations.models import Run
from evaluations.selectors import run_of_or_404
from providers.models import LanguageModel


class ExtendForm(forms.Form):
    """Which models and judges the run has not got yet."""

    models = forms.ModelMultipleChoiceField(
        label=_("Models"), queryset=LanguageModel.objects.none(), to_field_name="slug", required=False,
        widget=forms.CheckboxSelectMultiple, help_text=_("They answer all questions, and are judged by every judge."),
    )  # fmt: skip
    judges = forms.ModelMultipleChoiceField(
        label=_("Judges"), queryset=LanguageModel.objects.none(), to_field_name="slug", required=False,
        widget=forms.CheckboxSelectMultiple, help_text=_("They judge what is answered already, too."),
    )  # fmt: skip

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = LanguageModel.objects.active().select_related("endpoint")
        for name, there in (("models", run.contenders), ("judges", run.judges)):
            field = self.fields[name]
            assert isinstance(field, forms.ModelMultipleChoiceField)
            field.queryset = active.exclude(pk__in=there.values("pk"))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not data["models"] and not data["judges"]:
            raise forms.ValidationError(_("Choose a model or a judge to add."))
        return data


@staff_only
@require_http_methods(["GET", "HEAD", "POST"])
def extend(request: HttpRequest, run_id: str) -> HttpResponse:
    """POST adds them, and has a worker do what they lack."""
    run = run_of_or_404(request.user, run_id)
    if run.status == Run.Status.IMPORTED:
        raise Http404
    form = ExtendForm(request.POST if request.method == "POST" else None, run=run)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                services.run_start(run=services.run_extend(run=run, **form.cleaned_data))
            return redirect("evaluations:detail", run.pk)
        except TourneyError as error:
            form.add_error(None, str(error))
    return render(request, "evaluations/extend.html", {"run": run, "form": form}, status=400 if form.errors else 200)


@staff_only
@require_POST
def delete(request: HttpRequest, run_id: str) -> HttpResponse:
    """Forget a run and all that came of it."""
    run = run_of_or_404(request.user, run_id)
    try:
        services.run_delete(run=run)
    except TourneyError as error:
        messages.error(request, str(error))
        return redirect("evaluations:detail", run_id)
    messages.success(request, _("%(name)s is deleted.") % {"name": run.name})
    return redirect("evaluations:index")
