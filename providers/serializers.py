"""The shape of the catalogue in the API. System prompts and addresses are the operator's own."""

from rest_framework import serializers

from providers.models import LanguageModel


class LanguageModelOut(serializers.ModelSerializer[LanguageModel]):
    endpoint_kind = serializers.CharField(source="endpoint.kind")
    is_available = serializers.SerializerMethodField(help_text="Whether its endpoint answered when last looked at.")
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
            "context_window",
            "input_price",
            "output_price",
        ]

    def get_is_available(self, model: LanguageModel) -> bool:
        return model.endpoint.is_reachable
