"""The leaderboard's shapes in the API, fields named one by one."""

from typing import Any

from rest_framework import serializers

from leaderboard.errors import NotSupportedYet
from leaderboard.models import Rating, Snapshot
from providers.models import LanguageModel

METHODS = ("bradley_terry", "elo", "win_rate")


class LeaderboardIn(serializers.Serializer[dict[str, Any]]):
    """What a client may ask for."""

    board = serializers.CharField(
        required=False, allow_blank=True, help_text="Only the main board so far: leave it out."
    )
    category = serializers.CharField(required=False, allow_blank=True, help_text="Only all together so far.")
    language = serializers.CharField(required=False, allow_blank=True, help_text="Only all together so far.")
    method = serializers.ChoiceField(choices=METHODS, default=METHODS[0], help_text="What the rows are ordered by.")
    style_control = serializers.BooleanField(default=False, help_text="Only false so far.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        asked = [name for name in ("board", "category", "language", "style_control") if attrs.get(name)]
        if asked:
            raise NotSupportedYet(
                f"This version has one leaderboard for everything. Leave out: {', '.join(asked)}.",
                fields={name: ["This is not supported yet; leave it out."] for name in asked},
            )
        return attrs


class RatedModelOut(serializers.ModelSerializer[LanguageModel]):
    class Meta:
        model = LanguageModel
        fields = ["slug", "name", "organisation", "url"]
        read_only_fields = fields


class RatingOut(serializers.ModelSerializer[Rating]):
    """One model's row. Ratings are points (400 are odds of 10 to 1, mean 1000) with 95% intervals; null without one."""

    model = RatedModelOut(read_only=True)
    both_bad_rate = serializers.FloatField(read_only=True, allow_null=True)

    class Meta:
        model = Rating
        fields = [
            "rank",
            "rank_lower",
            "rank_upper",
            "model",
            "rating",
            "rating_lower",
            "rating_upper",
            "elo",
            "wins",
            "ties",
            "losses",
            "both_bad",
            "both_bad_rate",
            "comparisons",
            "win_rate",
        ]
        read_only_fields = fields


class ParametersOut(serializers.Serializer[dict[str, Any]]):
    """What the answer was made with."""

    method = serializers.ChoiceField(choices=METHODS, help_text="What the rows are ordered by.")
    ties = serializers.CharField()
    both_bad = serializers.CharField()
    scale = serializers.FloatField()
    base = serializers.FloatField()
    mean = serializers.FloatField()
    interval = serializers.FloatField()
    elo_k = serializers.FloatField()
    elo_initial = serializers.FloatField()


class LeaderboardOut(serializers.ModelSerializer[Snapshot]):
    """A snapshot; before the first one all is null, 0 or empty."""

    parameters = ParametersOut()
    is_regularised = serializers.BooleanField(
        help_text="Wins and losses do not determine finite ratings yet, so a weak prior was added."
    )
    pending = serializers.IntegerField(help_text="Newer comparisons, which the next snapshot will hold.")
    results = RatingOut(many=True)
    computed_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = Snapshot
        fields = [
            "parameters",
            "comparisons",
            "voters",
            "first_at",
            "last_at",
            "computed_at",
            "code_version",
            "is_regularised",
            "pending",
            "results",
        ]
        read_only_fields = fields


class PairOut(serializers.Serializer[dict[str, Any]]):
    """Two models that met. Rates are shares of wins, losses and ties, a tie being half a win; null without any."""

    model_a = serializers.CharField(help_text="Slug.")
    model_b = serializers.CharField(help_text="Slug.")
    wins_a = serializers.IntegerField()
    wins_b = serializers.IntegerField()
    ties = serializers.IntegerField()
    both_bad = serializers.IntegerField()
    win_rate_a = serializers.FloatField(allow_null=True)
    win_rate_b = serializers.FloatField(allow_null=True)


class MatrixOut(serializers.Serializer[dict[str, Any]]):
    computed_at = serializers.DateTimeField(allow_null=True)
    models = RatedModelOut(many=True, help_text="Best first.")
    pairs = PairOut(many=True)
