"""The shapes of evaluations in the API, fields named one by one."""

from typing import Any

from rest_framework import serializers

from evaluations.models import Answer, Judgment, Question, Run, VoteSet


class OptionsIn(serializers.Serializer[Any]):
    """Described for readers; `evaluations.options.Options` is what checks it."""

    max_questions = serializers.IntegerField(required=False, allow_null=True, help_text="Spread over the categories.")
    choices = serializers.IntegerField(required=False, help_text="Answers of each model to each question.")
    repeats = serializers.IntegerField(required=False, help_text="How often each judge judges the same.")
    temperatures = serializers.DictField(child=serializers.FloatField(), required=False, help_text="By category.")
    max_tokens = serializers.IntegerField(required=False)
    judge_max_tokens = serializers.IntegerField(required=False)
    seed = serializers.IntegerField(required=False, allow_null=True)
    with_references = serializers.BooleanField(required=False)
    reference_version = serializers.IntegerField(required=False, allow_null=True, help_text="The newest without it.")
    prompts = serializers.CharField(required=False, help_text="The family of judge prompts.")
    memory_limit = serializers.FloatField(
        required=False, allow_null=True, help_text="GiB; models on engines of ours that need more are refused."
    )


class EvaluationIn(serializers.Serializer[Any]):
    name = serializers.SlugField(max_length=100, help_text="Letters, digits and hyphens; given once.")
    question_set = serializers.SlugField(help_text="Its slug.")
    models = serializers.ListField(child=serializers.CharField(), min_length=1, max_length=100, help_text="Slugs.")
    judges = serializers.ListField(child=serializers.CharField(), required=False, default=list, max_length=20)
    mode = serializers.ChoiceField(choices=Run.Mode.choices, default=Run.Mode.SINGLE)
    baseline = serializers.CharField(required=False, allow_null=True, default=None)
    options = OptionsIn(required=False)
    dry_run = serializers.BooleanField(default=False, help_text="Only say what it would take; nothing is stored.")

    def validate_options(self, value: Any) -> Any:
        """As it was sent: what is unknown shall be refused, not dropped."""
        return self.initial_data["options"]


class EvaluationEstimateOut(serializers.Serializer[Any]):
    answers = serializers.IntegerField()
    judgments = serializers.IntegerField()
    matches = serializers.IntegerField(help_text="Answers that a scorer looks at; they ask nobody and cost nothing.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True, help_text="US dollars; null where a price is not known.")


class EvaluationProgressOut(serializers.Serializer[Any]):
    done = serializers.IntegerField(help_text="Answers and judgments.")
    total = serializers.IntegerField(allow_null=True)
    remaining_seconds = serializers.IntegerField(allow_null=True)


class EvaluationOut(serializers.Serializer[Any]):
    id = serializers.CharField(allow_null=True, help_text="Null for a dry run.")
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=Run.Status.choices)
    mode = serializers.ChoiceField(choices=Run.Mode.choices)
    question_set = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField(), help_text="Slugs.")
    judges = serializers.ListField(child=serializers.CharField(), help_text="Slugs.")
    baseline = serializers.CharField(allow_null=True)
    options = serializers.DictField()
    error = serializers.CharField()
    estimate = EvaluationEstimateOut(allow_null=True, help_text="Of what is still to be asked, when it was made.")
    progress = EvaluationProgressOut(allow_null=True, help_text="Null while nothing is under way, and in a list.")
    has_results = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class EvaluationExtendIn(serializers.Serializer[Any]):
    models = serializers.ListField(child=serializers.CharField(), required=False, default=list, max_length=100)
    judges = serializers.ListField(child=serializers.CharField(), required=False, default=list, max_length=20)
    reference_version = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=1_000_000,
        help_text="Judge again what was judged by another version of its reference.",
    )  # fmt: skip

    def validate(self, attrs: Any) -> Any:
        if not any(attrs.values()):
            raise serializers.ValidationError("Name models, judges or a reference_version to add.")
        return attrs


class ResultsIn(serializers.Serializer[Any]):
    format = serializers.ChoiceField(choices=["json", "csv", "md"], default="json")
    references = serializers.IntegerField(
        default=0, min_value=0, max_value=1_000_000, help_text="By this version of the references; 0 for the newest."
    )


class CompareIn(serializers.Serializer[Any]):
    first = serializers.SlugField(help_text="The first run's id or name.")
    second = serializers.SlugField(help_text="The second run's.")
    first_model = serializers.CharField(required=False, default="", max_length=100, help_text="Its name.")
    second_model = serializers.CharField(required=False, default="", max_length=100, help_text="Its name.")


class CompareOut(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=["computing", "done"])
    tests = serializers.IntegerField(allow_null=True, help_text="For how many the p-values are corrected.")
    differences = serializers.ListField(child=serializers.DictField())
    changes = serializers.ListField(child=serializers.DictField(), help_text="Questions, the greatest change first.")


class AnswersIn(serializers.Serializer[Any]):
    question = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1, help_text="Its number.")
    model = serializers.CharField(required=False, help_text="Slug.")
    category = serializers.CharField(required=False)
    turn = serializers.IntegerField(required=False, min_value=1, max_value=32_767)


class AnswerOut(serializers.ModelSerializer[Answer]):
    question = serializers.IntegerField(source="question.number")
    category = serializers.CharField(source="question.category")
    model = serializers.CharField(source="model.slug")

    class Meta:
        model = Answer
        fields = [
            "question", "category", "model", "choice", "turn", "status", "error_kind", "text", "reasoning",
            "finish_reason", "is_refusal", "latency_ms", "input_tokens", "output_tokens", "cost", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class JudgmentOut(serializers.ModelSerializer[Judgment]):
    question = serializers.IntegerField(source="question.number")
    category = serializers.CharField(source="question.category")
    judge = serializers.CharField(
        source="judge.slug", allow_null=True, default=None, help_text="Slug; null where a scorer matched the answer."
    )
    model_a = serializers.CharField(source="model_a.slug")
    model_b = serializers.CharField(source="model_b.slug", allow_null=True, default=None)

    class Meta:
        model = Judgment
        fields = [
            "question", "category", "judge", "scorer", "model_a", "model_b", "choice", "turn", "repeat", "game",
            "prompt_name", "reference_version", "state", "score", "winner", "details", "text", "cost", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class QuestionOut(serializers.ModelSerializer[Question]):
    references = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = ["number", "category", "turns", "hints", "scorers", "references"]
        read_only_fields = fields

    def get_references(self, question: Question) -> list[dict[str, Any]]:
        """All versions, the newest first."""
        return [
            {"version": one.version, "author": one.author, "turns": one.turns, "doubt": one.doubt}
            for one in question.references.all()
        ]


class QuestionSetOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    licence = serializers.CharField(help_text="Under which the questions may be used; empty where nobody said it.")
    source = serializers.CharField(help_text="Where they come from.")  # type: ignore[assignment] # a name of DRF's
    questions = serializers.IntegerField(help_text="How many.")
    categories = serializers.ListField(child=serializers.CharField())


class QuestionIn(serializers.Serializer[Any]):
    """FastChat's `question.jsonl`, row by row."""

    question_id = serializers.IntegerField(min_value=0)
    category = serializers.CharField()
    turns = serializers.ListField(child=serializers.CharField())
    reference = serializers.ListField(child=serializers.CharField(), required=False)
    scorers = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="As docs/evaluations.md has them; without: judges."
    )


class ReferenceIn(serializers.Serializer[Any]):
    question_id = serializers.IntegerField(min_value=0)
    author = serializers.CharField(max_length=100)
    turns = serializers.ListField(child=serializers.CharField())


class QuestionSetIn(serializers.Serializer[Any]):
    """Described for readers; the rows are checked as those of a file are."""

    slug = serializers.SlugField(max_length=50)
    name = serializers.CharField(max_length=100, required=False, default="")
    description = serializers.CharField(required=False, default="", allow_blank=True)
    licence = serializers.CharField(max_length=100, required=False, default="", allow_blank=True)
    source = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)  # type: ignore[assignment] # a name of DRF's
    questions = serializers.ListField(child=QuestionIn(), min_length=1, max_length=10_000)
    reference_answers = serializers.ListField(child=ReferenceIn(), required=False, default=list, max_length=10_000)


class QuestionsOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    same = serializers.IntegerField()
    references = serializers.IntegerField(help_text="Added, each as a version of its own.")
    doubted = serializers.ListField(
        child=serializers.IntegerField(), help_text="Questions whose reference is disputed."
    )


class VoteSetOut(serializers.ModelSerializer[VoteSet]):
    id = serializers.CharField()
    run = serializers.CharField(source="run_id", allow_null=True)
    report = serializers.DictField()

    class Meta:
        model = VoteSet
        fields = ["id", "name", "run", "report", "created_at"]


class VotesIn(serializers.Serializer[Any]):
    name = serializers.SlugField(max_length=100)
    file = serializers.FileField(help_text="The joined CSV, or FastChat's human judgments as JSON or JSON Lines.")
    run = serializers.UUIDField(required=False, allow_null=True, default=None)
