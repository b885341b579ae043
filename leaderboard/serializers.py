"""The leaderboard's shapes in the API, fields named one by one."""

from typing import Any

from rest_framework import serializers

from leaderboard.methods import DEFAULT, METHODS, Standing
from leaderboard.models import Board, Snapshot
from providers.models import LanguageModel

INTERVALS = ("sandwich", "bootstrap")


class SegmentIn(serializers.Serializer[dict[str, Any]]):
    """Which part of which board; one of category and language, not both."""

    board = serializers.SlugField(required=False, allow_blank=True, help_text="Slug; the main board if left out.")
    category = serializers.CharField(required=False, allow_blank=True, max_length=32)
    language = serializers.CharField(required=False, allow_blank=True, max_length=16)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("category") and attrs.get("language"):
            raise serializers.ValidationError({"language": ["Give a category or a language, not both."]})
        return attrs


class LeaderboardIn(SegmentIn):
    """What a client may ask for."""

    method = serializers.ChoiceField(choices=list(METHODS), default=DEFAULT, help_text="How the rows are ordered.")
    style_control = serializers.BooleanField(
        default=False, help_text="Ratings at equal length and form of the answers; with bradley_terry."
    )
    interval = serializers.ChoiceField(choices=INTERVALS, default=INTERVALS[0], help_text="With bradley_terry.")


class RatedModelOut(serializers.ModelSerializer[LanguageModel]):
    class Meta:
        model = LanguageModel
        fields = ["slug", "name", "organisation", "url"]
        read_only_fields = fields


class StandingOut(serializers.Serializer[Standing]):
    """One model's row. `rating` is on the method's own scale, with a 95% interval: points (400 are odds of 10 to 1,
    mean 1000), or shares from 0 to 1 for win rates. Null without one."""

    rank = serializers.IntegerField(source="place.rank", allow_null=True)
    rank_lower = serializers.IntegerField(source="place.rank_lower", allow_null=True, help_text="Best possible.")
    rank_upper = serializers.IntegerField(source="place.rank_upper", allow_null=True, help_text="Worst possible.")
    tier = serializers.IntegerField(source="place.tier", allow_null=True)
    model = RatedModelOut(source="rating.model")
    rating = serializers.FloatField(source="place.rating", allow_null=True)
    rating_lower = serializers.FloatField(source="place.rating_lower", allow_null=True)
    rating_upper = serializers.FloatField(source="place.rating_upper", allow_null=True)
    elo = serializers.FloatField(source="rating.elo", allow_null=True)
    wins = serializers.IntegerField(source="rating.wins")
    ties = serializers.IntegerField(source="rating.ties")
    losses = serializers.IntegerField(source="rating.losses")
    both_bad = serializers.IntegerField(source="rating.both_bad")
    both_bad_rate = serializers.FloatField(source="rating.both_bad_rate", allow_null=True)
    comparisons = serializers.IntegerField(source="rating.comparisons")
    win_rate = serializers.FloatField(source="rating.win_rate", allow_null=True)
    group = serializers.IntegerField(
        source="rating.group", help_text="0 is rated; models of other groups were never compared with these."
    )
    is_preliminary = serializers.BooleanField(help_text="Fewer comparisons than the board asks for.")
    is_one_sided = serializers.BooleanField(
        source="rating.is_one_sided", help_text="Only won or only lost: finite by a weak prior alone."
    )


class ParametersOut(serializers.Serializer[dict[str, Any]]):
    """What the answer was made with."""

    board = serializers.CharField()
    category = serializers.CharField(allow_blank=True)
    language = serializers.CharField(allow_blank=True)
    method = serializers.ChoiceField(choices=list(METHODS), help_text="How the rows are ordered.")
    style_control = serializers.BooleanField()
    interval_method = serializers.ChoiceField(choices=INTERVALS)
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
    results = StandingOut(many=True)
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


class BoardOut(serializers.ModelSerializer[Board]):
    """A saved filter with a leaderboard of its own."""

    categories = serializers.ListField(child=serializers.CharField(), help_text="With a leaderboard of their own.")
    languages = serializers.ListField(child=serializers.CharField(), help_text="With a leaderboard of their own.")

    class Meta:
        model = Board
        fields = ["slug", "name", "description", "minimum_comparisons", "categories", "languages"]
        read_only_fields = fields


class BoardsOut(serializers.Serializer[dict[str, Any]]):
    boards = BoardOut(many=True)


class HistoryOut(serializers.Serializer[dict[str, Any]]):
    """The best models' ratings at the end of each period, from all votes until then, and the votes in it."""

    unit = serializers.ChoiceField(choices=("hour", "day"))
    times = serializers.ListField(child=serializers.DateTimeField(), help_text="Beginnings of the periods.")
    votes = serializers.ListField(child=serializers.IntegerField())
    ratings = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)), help_text="By the model's slug."
    )
