"""The shapes of battles in the API, field by field. What comes out is `state.battle_state`."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from battles.models import Battle, Category, Reaction, Response
from battles.services import COMMENT_MAX_CHARACTERS, IMAGES_A_TURN, LABELS, SYSTEM_MAX_CHARACTERS

RANK = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class TurnIn(serializers.Serializer[Any]):
    prompt = serializers.CharField(max_length=settings.PROMPT_MAX_CHARACTERS, trim_whitespace=False)
    images = serializers.ListField(
        child=serializers.UUIDField(),
        default=list,
        max_length=IMAGES_A_TURN,
        help_text="Ids of images that you have uploaded and not sent yet.",
    )


class ImageIn(serializers.Serializer[Any]):
    file = serializers.FileField(allow_empty_file=True, help_text="A JPEG, PNG, WebP or GIF, as multipart form data.")


class ImageOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    url = serializers.CharField(help_text="The image without metadata, for browsers that may see its battle.")
    width = serializers.IntegerField(help_text="Pixels.")
    height = serializers.IntegerField(help_text="Pixels.")


class BattleIn(TurnIn):
    mode = serializers.ChoiceField(choices=Battle.Mode.choices, default=Battle.Mode.BLIND)
    models = serializers.ListField(
        child=serializers.CharField(max_length=100),
        default=list,
        max_length=100,
        help_text="Slugs: the contenders of a named battle or line-up, or the pool that a blind one draws from.",
    )
    blind = serializers.BooleanField(default=False, help_text="Of a line-up: hide the names until the vote.")
    count = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=2,
        max_value=len(LABELS),
        help_text="Of a line-up: how many are drawn; without it all of `models`, or all that answer.",
    )
    category = serializers.ChoiceField(choices=Category.choices, default=Category.GENERAL)
    system = serializers.CharField(default="", allow_blank=True, max_length=SYSTEM_MAX_CHARACTERS)


class SideIn(serializers.Serializer[Any]):
    side = serializers.CharField(max_length=2)


class StopIn(serializers.Serializer[Any]):
    side = serializers.CharField(max_length=2, required=False, help_text="All, where it is left out.")


class ReactionIn(serializers.Serializer[Any]):
    response = serializers.UUIDField()
    value = serializers.ChoiceField(choices=Reaction.Value.choices, allow_null=True)


class RankField(serializers.Field[Any, Any, Any, Any]):
    """A label, or several labels that are equal."""

    def to_internal_value(self, data: Any) -> str | list[str]:
        if isinstance(data, str) or (isinstance(data, list) and all(isinstance(label, str) for label in data)):
            return data
        raise serializers.ValidationError("A rank is a label, or a list of labels that are equal.")

    def to_representation(self, value: Any) -> Any:
        return value


class PreferenceIn(serializers.Serializer[Any]):
    """Exactly one of `choice`, `winner` and `ranking`."""

    choice = serializers.CharField(max_length=8, required=False, help_text="A label, `tie` or `both_bad`.")
    winner = serializers.CharField(max_length=2, required=False, help_text="A label: better than all others.")
    ranking = serializers.ListField(
        child=extend_schema_field(RANK)(RankField)(),
        required=False,
        min_length=1,
        max_length=len(LABELS),
        help_text="Labels, best first; equal ones in a list of their own. Who is left out is not judged.",
    )
    reasons = serializers.ListField(
        child=serializers.CharField(max_length=32),
        default=list,
        max_length=20,
        help_text="Some of the reasons that this arena offers: correct, helpful, clear, instructions, style, harmless.",
    )
    comment = serializers.CharField(default="", allow_blank=True, max_length=COMMENT_MAX_CHARACTERS)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("choice", "winner", "ranking") if name in attrs]
        if len(given) != 1:
            raise serializers.ValidationError("Give exactly one of choice, winner and ranking.")
        attrs["choice"] = attrs.get("choice") or attrs.pop("winner", "")
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
    place = serializers.IntegerField(allow_null=True, help_text="In line for a free place; null until the reveal.")
    waiting = serializers.CharField(help_text="What it waits for, in words; empty where it does not wait.")
    kind = serializers.CharField(help_text="What went wrong; neutral until the reveal.")
    message = serializers.CharField()
    reaction = serializers.ChoiceField(choices=Reaction.Value.choices, allow_null=True)
    metrics = MetricsOut(allow_null=True)


class TurnOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    prompt = serializers.CharField()
    images = ImageOut(many=True)
    is_open = serializers.BooleanField(help_text="Asked after the vote, in the open; does not count.")
    responses = ResponseOut(many=True)


class PreferenceOut(serializers.Serializer[Any]):
    choice = serializers.CharField(help_text="The best side's label, `ranking`, `tie` or `both_bad`.")
    ranking = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Labels by rank, best first."
    )
    is_withdrawn = serializers.BooleanField()
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
    takes_images = serializers.BooleanField(help_text="False where a side that is known cannot look at images.")
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
    images = serializers.IntegerField(help_text="How many went with its prompts.")
    choice = serializers.CharField(allow_null=True)
    models = serializers.ListField(child=serializers.CharField(), help_text="Names, after the reveal.")


class ReactionOut(serializers.Serializer[Any]):
    response = serializers.CharField()
    value = serializers.CharField(allow_null=True)
