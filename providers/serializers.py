"""The shapes of the catalogue and of usage in the API. System prompts and addresses are the operator's own."""

from typing import Any

from rest_framework import serializers

from providers.engines.states import State, Wanted
from providers.models import Engine, LanguageModel
from providers.usage_summary import Figures, ModelUse, UsageSummary


class LanguageModelOut(serializers.ModelSerializer[LanguageModel]):
    endpoint_kind = serializers.CharField(source="endpoint.kind")
    is_available = serializers.SerializerMethodField(help_text="Whether its endpoint answered when last looked at.")
    tags = serializers.ListField(child=serializers.CharField())
    # Named, because the field that Django derives has another maximum on each database.
    context_window = serializers.IntegerField(allow_null=True, help_text="Tokens.")
    input_price = serializers.FloatField(allow_null=True, help_text="US dollars for a million tokens.")
    output_price = serializers.FloatField(allow_null=True, help_text="US dollars for a million tokens.")

    class Meta:
        model = LanguageModel
        fields = [
            "slug",
            "name",
            "organisation",
            "licence",
            "url",
            "endpoint_kind",
            "is_available",
            "is_reasoning",
            "sees_images",
            "size",
            "tags",
            "context_window",
            "input_price",
            "output_price",
        ]

    def get_is_available(self, model: LanguageModel) -> bool:
        return model.is_available


class EngineOut(serializers.ModelSerializer[Engine]):
    desired = serializers.ChoiceField(choices=[one.value for one in Wanted])
    state = serializers.ChoiceField(choices=[one.value for one in State])
    is_watched = serializers.BooleanField(help_text="Whether a process looks after it at this moment.")
    running = serializers.IntegerField(help_text="Requests that it answers.")
    waiting = serializers.IntegerField(help_text="Requests that wait in it.")
    restarts = serializers.IntegerField(help_text="In a row, after failures.")
    cache_tokens = serializers.IntegerField(allow_null=True, help_text="What its cache holds, as vLLM reported it.")

    class Meta:
        model = Engine
        fields = [
            "slug",
            "model",
            "desired",
            "state",
            "reason",
            "is_watched",
            "state_since",
            "started_at",
            "restarts",
            "running",
            "waiting",
            "cache_used",
            "cache_tokens",
        ]


class EngineIn(serializers.Serializer[Engine]):
    desired = serializers.ChoiceField(choices=[one.value for one in Wanted])


class FiguresOut(serializers.Serializer[Figures]):
    requests = serializers.IntegerField(help_text="Answers asked for, with those that failed.")
    failures = serializers.IntegerField()
    cached = serializers.IntegerField(help_text="Answered from the store; these cost nothing.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField(help_text="US dollars.")


class ModelUseOut(serializers.Serializer[ModelUse]):
    slug = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    figures = FiguresOut()


class DayUseOut(serializers.Serializer[Any]):
    day = serializers.DateField()
    figures = FiguresOut()


class BudgetOut(serializers.Serializer[Any]):
    limit = serializers.FloatField(help_text="US dollars a calendar month.")
    is_low = serializers.BooleanField(help_text="Whether 80% are spent.")
    is_spent = serializers.BooleanField(help_text="Whether nothing more is asked until `resets_at`.")
    resets_at = serializers.DateTimeField()


class UsageOut(serializers.Serializer[UsageSummary]):
    today = FiguresOut()
    month = FiguresOut()
    budget = BudgetOut(allow_null=True, help_text="null where there is no limit.")
    models = ModelUseOut(many=True, help_text="By cost.")
    days = DayUseOut(many=True, help_text="Every day of this month so far.")
    concealed = serializers.IntegerField(
        help_text="Answers in blind battles without a vote; none of the figures holds them."
    )
