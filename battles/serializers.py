"""The shapes of battles in the API, field by field. What comes out is `state.battle_state`."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from battles.models import Battle, Category, Reaction, Response
from battles.services import COMMENT_MAX_CHARACTERS, REASONS, SYSTEM_MAX_CHARACTERS

CHOICES = ["a", "b", "tie", "both_bad"]


class TurnIn(serializers.Serializer[Any]):
    prompt = serializers.CharField(max_length=settings.PROMPT_MAX_CHARACTERS, trim_whitespace=False)


class BattleIn(TurnIn):
    mode = serializers.ChoiceField(choices=Battle.Mode.choices, default=Battle.Mode.BLIND)
    models = serializers.ListField(
        child=serializers.CharField(max_length=100),
        default=list,
        max_length=100,
        help_text="Slugs: both contenders of a named battle, or the pool that a blind one draws from.",
    )
    category = serializers.ChoiceField(choices=Category.choices, default=Category.GENERAL)
    system = serializers.CharField(default="", allow_blank=True, max_length=SYSTEM_MAX_CHARACTERS)


class SideIn(serializers.Serializer[Any]):
    side = serializers.ChoiceField(choices=["a", "b"])


class StopIn(serializers.Serializer[Any]):
    side = serializers.ChoiceField(choices=["a", "b"], required=False, help_text="Both, where it is left out.")


class ReactionIn(serializers.Serializer[Any]):
    response = serializers.UUIDField()
    value = serializers.ChoiceField(choices=Reaction.Value.choices, allow_null=True)


class PreferenceIn(serializers.Serializer[Any]):
    """Exactly one of `choice`, `winner` and `ranking`."""

    choice = serializers.ChoiceField(choices=CHOICES, required=False)
    winner = serializers.ChoiceField(choices=["a", "b"], required=False)
    ranking = serializers.ListField(
        child=serializers.ChoiceField(choices=["a", "b"]),
        required=False,
        min_length=2,
        max_length=2,
        help_text="Labels, best first.",
    )
    reasons = serializers.ListField(child=serializers.ChoiceField(choices=list(REASONS)), default=list)
    comment = serializers.CharField(default="", allow_blank=True, max_length=COMMENT_MAX_CHARACTERS)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("choice", "winner", "ranking") if name in attrs]
        if len(given) != 1:
            raise serializers.ValidationError("Give exactly one of choice, winner and ranking.")
        ranking = attrs.get("ranking", [])
        if len(set(ranking)) != len(ranking):
            raise serializers.ValidationError({"ranking": "Each side stands in a ranking once."})
        attrs["choice"] = attrs.get("choice") or attrs.get("winner") or ranking[0]
        return attrs


class ModelOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    organisation = serializers.CharField()
    url = serializers.CharField()
    rating = serializers.FloatField(allow_null=True)
    rating_lower = serializers.FloatField(allow_null=True)
    rating_upper = serializers.FloatField(allow_null=True)
    rating_change = serializers.FloatField(allow_null=True, help_text="Since the vote; null until it is rated.")
    rank = serializers.IntegerField(allow_null=True)


class SideOut(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment] # hides the serializer's own, which is of no use here
    name = serializers.CharField(help_text="“Assistant A” until the reveal.")
    model = ModelOut(allow_null=True)


class MetricsOut(serializers.Serializer[Any]):
    latency_ms = serializers.IntegerField(allow_null=True)
    first_token_ms = serializers.IntegerField(allow_null=True)
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    cost = serializers.FloatField(allow_null=True, help_text="US dollars.")


class ResponseOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    side = serializers.CharField()
    status = serializers.ChoiceField(choices=Response.Status.choices)
    attempt = serializers.IntegerField()
    text = serializers.CharField(help_text="Markdown, as the model wrote it.")
    html = serializers.CharField(help_text="Sanitised; only the finished blocks while it is being written.")
    tail = serializers.CharField(help_text="While it is being written: the plain text after the finished blocks.")
    reasoning = serializers.CharField()
    kind = serializers.CharField(help_text="What went wrong; neutral until the reveal.")
    message = serializers.CharField()
    reaction = serializers.ChoiceField(choices=Reaction.Value.choices, allow_null=True)
    metrics = MetricsOut(allow_null=True)


class TurnOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    prompt = serializers.CharField()
    is_open = serializers.BooleanField(help_text="Asked after the vote, in the open; does not count.")
    responses = ResponseOut(many=True)


class PreferenceOut(serializers.Serializer[Any]):
    choice = serializers.ChoiceField(choices=CHOICES)
    reasons = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    created_at = serializers.CharField()


class BattleOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    mode = serializers.ChoiceField(choices=Battle.Mode.choices)
    category = serializers.ChoiceField(choices=Category.choices)
    created_at = serializers.CharField()
    is_revealed = serializers.BooleanField()
    can_vote = serializers.BooleanField()
    can_prompt = serializers.BooleanField()
    preference = PreferenceOut(allow_null=True)
    share_url = serializers.CharField(allow_null=True)
    sides = SideOut(many=True)
    turns = TurnOut(many=True)


class BattleRowOut(serializers.Serializer[Any]):
    """A battle in the history."""

    id = serializers.CharField()
    mode = serializers.CharField()
    category = serializers.CharField()
    created_at = serializers.DateTimeField()
    is_revealed = serializers.BooleanField()
    prompt = serializers.CharField(help_text="The first one.")
    choice = serializers.CharField(allow_null=True)
    models = serializers.ListField(child=serializers.CharField(), help_text="Names, after the reveal.")


class ReactionOut(serializers.Serializer[Any]):
    response = serializers.CharField()
    value = serializers.CharField(allow_null=True)
