"""Question sets, references and judge prompts in the admin; runs and what came of them only to look at."""

from django.contrib import admin

from common.admin import ReadOnly
from evaluations.models import Answer, JudgePrompt, Judgment, Question, QuestionSet, ReferenceAnswer, Run


@admin.register(QuestionSet)
class QuestionSetAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "created_at"]
    prepopulated_fields = {"slug": ["name"]}


@admin.register(Question)
class QuestionAdmin(admin.ModelAdmin):
    list_display = ["number", "category", "question_set", "__str__"]
    list_filter = ["question_set", "category"]
    list_select_related = ["question_set"]
    search_fields = ["number", "turns"]


@admin.register(ReferenceAnswer)
class ReferenceAnswerAdmin(admin.ModelAdmin):
    """A correction is a new row with the next version: what judges went by before stays readable."""

    list_display = ["question", "version", "author", "doubt", "created_at"]
    list_filter = ["question__question_set", "question__category", "author"]
    list_select_related = ["question"]
    search_fields = ["question__number", "turns"]
    autocomplete_fields = ["question"]

    def get_readonly_fields(self, request: object, obj: ReferenceAnswer | None = None) -> list[str]:
        return [] if obj is None else ["question", "version", "author", "turns"]


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
    list_display = ["run", "question", "model", "choice", "turn", "status", "error_kind", "latency_ms"]
    list_filter = ["status", "error_kind", "model"]
    list_select_related = ["run", "question", "model"]
    search_fields = ["run__name", "question__number"]


@admin.register(Judgment)
class JudgmentAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["run", "question", "judge", "model_a", "model_b", "turn", "game", "state", "score", "winner"]
    list_filter = ["state", "judge", "prompt_name"]
    list_select_related = ["run", "question", "judge", "model_a", "model_b"]
    search_fields = ["run__name", "question__number"]
