"""The shapes of conversations in the API, field by field. What comes out is `state.conversation_state`."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from conversations.analyses import RUBRIC_MAX_CHARACTERS
from conversations.making import LINE_MAX_CHARACTERS, NAME_MAX_CHARACTERS, SYSTEM_MAX_CHARACTERS
from conversations.models import Conversation, Side, Turn
from conversations.sampling import TEMPERATURE_MAX, TOKENS_MAX


class AgentIn(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=100, help_text="A slug of the catalogue.")
    temperature = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=TEMPERATURE_MAX)
    top_p = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)
    system = serializers.CharField(default="", allow_blank=True, max_length=SYSTEM_MAX_CHARACTERS)
    name = serializers.CharField(default="", allow_blank=True, max_length=NAME_MAX_CHARACTERS)
    persona = serializers.CharField(default="", allow_blank=True, max_length=SYSTEM_MAX_CHARACTERS)
    max_tokens = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=TOKENS_MAX, help_text="Of each turn."
    )


class ConversationIn(serializers.Serializer[Any]):
    agent_a = AgentIn()
    agent_b = AgentIn()
    seed_prompt = serializers.CharField(
        default="", allow_blank=True, max_length=LINE_MAX_CHARACTERS, trim_whitespace=False,
        help_text="What the agent who begins is told first; left out, it comes from the scenario.",
    )  # fmt: skip
    max_turns = serializers.IntegerField(
        default=10, min_value=1, max_value=settings.CONVERSATION_TURNS_MAX, help_text="Of both agents together."
    )
    scenario = serializers.SlugField(required=False, allow_null=True, allow_blank=True)
    scenario_version = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    first = serializers.ChoiceField(choices=Side.choices, required=False, allow_null=True, help_text="Who begins.")
    category = serializers.CharField(default="", allow_blank=True, max_length=60)
    seed = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=2**32 - 1)
    stop_phrase = serializers.CharField(default="", allow_blank=True, max_length=200)
    stops_on_goodbye = serializers.BooleanField(default=False)
    stops_on_repetition = serializers.BooleanField(default=False)
    token_budget = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)
    cost_budget = serializers.DecimalField(
        required=False, allow_null=True, max_digits=10, decimal_places=4, help_text="US dollars."
    )


class ExtendIn(serializers.Serializer[Any]):
    turns = serializers.IntegerField(min_value=1, max_value=settings.CONVERSATION_TURNS_MAX)


class BranchIn(serializers.Serializer[Any]):
    position = serializers.IntegerField(min_value=0, help_text="Of the last turn that both share; 0 for none.")


class InjectIn(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=LINE_MAX_CHARACTERS, trim_whitespace=False)


class AnalysisIn(serializers.Serializer[Any]):
    model = serializers.CharField(
        default="", allow_blank=True, max_length=100, help_text="A slug; the strongest that answers, where left out."
    )
    rubric = serializers.CharField(default="", allow_blank=True, max_length=RUBRIC_MAX_CHARACTERS)


class UsedOut(serializers.Serializer[Any]):
    latency_ms = serializers.IntegerField(allow_null=True)
    first_token_ms = serializers.IntegerField(allow_null=True)
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    cost = serializers.FloatField(allow_null=True, help_text="US dollars.")


class WrittenOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=Turn.Status.choices)
    text = serializers.CharField(help_text="Markdown, as the model wrote it.")
    html = serializers.CharField(help_text="Sanitised; only the finished blocks while it is being written.")
    tail = serializers.CharField(help_text="While it is being written: the plain text after the finished blocks.")
    reasoning = serializers.CharField()
    kind = serializers.CharField(help_text="What went wrong; empty where nothing did.")
    message = serializers.CharField()
    metrics = UsedOut()


class SpokenTurnOut(WrittenOut):
    position = serializers.IntegerField(help_text="Among all that was said.")
    number = serializers.IntegerField(allow_null=True, help_text="Among the agents' turns; null for the moderator.")
    speaker = serializers.ChoiceField(choices=Turn.Speaker.choices)
    attempt = serializers.IntegerField()
    is_refusal = serializers.BooleanField()


class AnalysisOut(WrittenOut):
    model = serializers.CharField()
    model_name = serializers.CharField()
    prompt_version = serializers.CharField()
    rubric = serializers.CharField()
    turns_read = serializers.IntegerField()
    result = serializers.JSONField(
        allow_null=True, help_text="What was understood of the text; see docs/conversations.md."
    )
    problem = serializers.CharField()
    created_at = serializers.CharField()


class AgentOut(serializers.Serializer[Any]):
    side = serializers.ChoiceField(choices=Side.choices)
    name = serializers.CharField()
    model = serializers.CharField()
    model_name = serializers.CharField()
    organisation = serializers.CharField()
    is_active = serializers.BooleanField()
    temperature = serializers.FloatField(allow_null=True)
    top_p = serializers.FloatField(allow_null=True)
    max_tokens = serializers.IntegerField(allow_null=True)
    persona = serializers.CharField()
    system = serializers.CharField()


class ScenarioRefOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    version = serializers.IntegerField()
    name = serializers.CharField()


class RulesOut(serializers.Serializer[Any]):
    max_turns = serializers.IntegerField()
    stop_phrase = serializers.CharField()
    stops_on_goodbye = serializers.BooleanField()
    stops_on_repetition = serializers.BooleanField()
    token_budget = serializers.IntegerField(allow_null=True)
    cost_budget = serializers.FloatField(allow_null=True)


class ProgressOut(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=Conversation.State.choices)
    reason = serializers.CharField(help_text="Why it stands still.")
    reason_text = serializers.CharField()
    note = serializers.CharField()
    is_pause_asked = serializers.BooleanField()
    turns_done = serializers.IntegerField()
    max_turns = serializers.IntegerField()
    next_side = serializers.ChoiceField(choices=Side.choices)
    tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True)
    can_run = serializers.BooleanField()
    can_pause = serializers.BooleanField()
    can_stop = serializers.BooleanField()
    can_retry = serializers.BooleanField()
    can_extend = serializers.BooleanField()


class ConversationOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    created_at = serializers.CharField()
    category = serializers.CharField()
    seed_prompt = serializers.CharField()
    first_side = serializers.ChoiceField(choices=Side.choices)
    scenario = ScenarioRefOut(allow_null=True)
    branched_from = serializers.CharField(allow_null=True)
    agents = AgentOut(many=True)
    rules = RulesOut()
    progress = ProgressOut()
    turns = SpokenTurnOut(many=True)
    analyses = AnalysisOut(many=True)


class AgentFiguresOut(serializers.Serializer[Any]):
    turns = serializers.IntegerField()
    words = serializers.FloatField(allow_null=True, help_text="A turn, on average.")
    words_trend = serializers.FloatField(allow_null=True, help_text="Words more from one turn to the next.")
    tokens = serializers.FloatField(allow_null=True, help_text="Written a turn, on average.")
    latency_ms = serializers.FloatField(allow_null=True)
    latency_trend = serializers.FloatField(allow_null=True, help_text="Milliseconds more from one turn to the next.")
    diversity = serializers.FloatField(allow_null=True, help_text="Different words among 50 in a row, as a share.")
    self_repetition = serializers.FloatField(allow_null=True, help_text="Share of word runs it had said before.")
    cross_repetition = serializers.FloatField(allow_null=True, help_text="Share of word runs the other had said.")
    questions = serializers.FloatField(allow_null=True, help_text="Share of sentences that ask.")
    refusals = serializers.IntegerField()


class AgentsFiguresOut(serializers.Serializer[Any]):
    a = AgentFiguresOut()
    b = AgentFiguresOut()


class MeasuresOut(serializers.Serializer[Any]):
    agents = AgentsFiguresOut()
    words = serializers.ListField(child=serializers.IntegerField(), help_text="Of each turn.")
    similarity = serializers.ListField(
        child=serializers.FloatField(), help_text="Of each turn to the one before it, from 0 to 1."
    )


class ConversationRowOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    created_at = serializers.DateTimeField()
    category = serializers.CharField()
    state = serializers.CharField()
    reason = serializers.CharField()
    turns_done = serializers.IntegerField()
    max_turns = serializers.IntegerField()
    agents = serializers.ListField(child=serializers.CharField())
    models = serializers.ListField(child=serializers.CharField())
