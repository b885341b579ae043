"""Question sets, references and judge prompts in the admin; runs and what came of them only to look at. Judged battles
are in `battles.admin`."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminTextareaWidget
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import ReadOnly
from evaluations.battles.admin import BattleJudgmentAdmin
from evaluations.models import (
    Answer,
    JudgePrompt,
    Judgment,
    Question,
    QuestionSet,
    ReferenceAnswer,
    Run,
    TalkJudgment,
    VoteSet,
)  # fmt: skip
from evaluations.reading.texts import turns_difference
from evaluations.services import reference_correct

__all__ = ["BattleJudgmentAdmin"]


@admin.register(QuestionSet)
class QuestionSetAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "licence", "source", "created_at"]
    prepopulated_fields = {"slug": ["name"]}


@admin.register(Question)
class QuestionAdmin(admin.ModelAdmin):
    list_display = ["number", "category", "question_set", "__str__", "is_scored"]
    list_filter = ["question_set", "category"]
    list_select_related = ["question_set"]
    search_fields = ["number", "turns"]

    @admin.display(description="scorers")
    def is_scored(self, question: Question) -> str:
        return ", ".join(scorer["kind"] for scorer in question.scorers)


class CorrectionForm(forms.ModelForm):
    """A reference turn by turn. `_preview` in what is sent shows what would change, and saves nothing."""

    class Meta:
        model = ReferenceAnswer
        fields = ["author", "doubt"]

    def clean(self) -> dict[str, Any] | None:
        if "_preview" in self.data:
            raise forms.ValidationError(_("Nothing is saved yet: below stands what would change."))
        return super().clean()

    def turns(self) -> list[str]:
        names = [name for name in sorted(self.fields, key=_place) if name.startswith(TURN)]
        return [_lines(self.cleaned_data[name]) for name in names]


TURN = "turn_"


def _lines(text: str) -> str:
    """As it is stored: browsers send a line's end as two characters."""
    return text.replace("\r\n", "\n")


def _place(name: str) -> int:
    return int(name.removeprefix(TURN)) if name.startswith(TURN) else 0


@admin.register(ReferenceAnswer)
class ReferenceAnswerAdmin(admin.ModelAdmin):
    """Saving other words makes a new version: what judges went by before stays readable, beside what changed."""

    change_form_template = "admin/evaluations/referenceanswer/change_form.html"
    list_display = ["question", "version", "author", "doubt", "created_at"]
    list_filter = ["question__question_set", "question__category", "author"]
    list_select_related = ["question"]
    search_fields = ["question__number", "turns"]
    autocomplete_fields = ["question"]

    def get_form(self, request: HttpRequest, obj: Any | None = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            return super().get_form(request, obj, change=change, **kwargs)
        words = {
            f"{TURN}{number}": forms.CharField(
                label=_("Turn %(number)d") % {"number": number}, initial=turn, widget=AdminTextareaWidget, strip=False
            )
            for number, turn in enumerate(obj.turns, start=1)
        }
        return type("ReferenceCorrectionForm", (CorrectionForm,), words)

    def get_fieldsets(self, request: HttpRequest, obj: Any | None = None) -> Any:
        if obj is None:
            return super().get_fieldsets(request, obj)
        turns = [f"{TURN}{number}" for number in range(1, len(obj.turns) + 1)]
        return [(None, {"fields": ["question", "version", *turns, "author", "doubt"]})]

    def get_readonly_fields(self, request: HttpRequest, obj: Any | None = None) -> list[str]:
        return [] if obj is None else ["question", "version"]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        found = self.get_object(request, object_id) if object_id else None
        return super().changeform_view(
            request, object_id, form_url, {**(extra_context or {}), **_difference(request, found)}
        )

    def save_model(self, request: HttpRequest, obj: ReferenceAnswer, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        kept = reference_correct(
            reference=ReferenceAnswer.objects.get(pk=obj.pk), turns=form.turns(), author=obj.author, doubt=obj.doubt
        )
        obj.pk, obj.version, obj.turns = kept.pk, kept.version, kept.turns


def _difference(request: HttpRequest, found: ReferenceAnswer | None) -> dict[str, Any]:
    """What would change by what was sent, or what changed from the version before."""
    if found is None:
        return {}
    if request.method == "POST":
        sent = [request.POST.get(f"{TURN}{number}", "") for number in range(1, len(found.turns) + 1)]
        return {"difference": turns_difference(found.turns, [_lines(text) for text in sent])}
    older = ReferenceAnswer.objects.filter(question=found.question_id, version__lt=found.version).first()
    return {"difference": turns_difference(older.turns, found.turns), "older": older} if older else {}


@admin.register(JudgePrompt)
class JudgePromptAdmin(admin.ModelAdmin):
    list_display = ["name", "version", "family", "kind", "scope", "has_reference", "output_format"]
    list_filter = ["family", "kind", "has_reference"]
    search_fields = ["name", "template"]

    def get_readonly_fields(self, request: object, obj: JudgePrompt | None = None) -> list[str]:
        return [] if obj is None else ["family", "name", "version", "system_prompt", "template", "output_format"]


@admin.register(Run)
class RunAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "owner", "question_set", "mode", "status", "created_at", "finished_at"]
    list_filter = ["status", "mode", "created_at"]
    list_select_related = ["owner", "question_set"]
    search_fields = ["name", "owner__username"]


@admin.register(Answer)
class AnswerAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["run", "question", "model", "choice", "turn", "status", "error_kind", "is_refusal", "latency_ms"]
    list_filter = ["status", "error_kind", "is_refusal", "model"]
    list_select_related = ["run", "question", "model"]
    search_fields = ["run__name", "question__number"]


@admin.register(Judgment)
class JudgmentAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["run", "question", "judge", "model_a", "model_b", "turn", "game", "state", "score", "winner"]
    list_filter = ["state", "judge", "prompt_name"]
    list_select_related = ["run", "question", "judge", "model_a", "model_b"]
    search_fields = ["run__name", "question__number"]


@admin.register(TalkJudgment)
class TalkJudgmentAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["judge", "owner", "game", "state", "score_a", "score_b", "winner", "started_at", "conversation_id"]
    list_filter = ["state", "judge", "prompt_version"]
    list_select_related = ["judge", "owner"]
    search_fields = ["conversation__id", "other__id", "owner__username"]
    raw_id_fields = ["conversation", "other"]


@admin.register(VoteSet)
class VoteSetAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "owner", "run", "created_at"]
    list_select_related = ["owner", "run"]
    search_fields = ["name"]
