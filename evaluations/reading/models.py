"""What is computed outside of requests and then read: what a run says, how two runs differ, and how far judges agree
with people's votes."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Summary(models.Model):
    """What a run says, computed outside of requests: pages and the API read it and never fit or draw again."""

    run = models.ForeignKey("evaluations.Run", on_delete=models.CASCADE, related_name="summaries")
    references = models.PositiveIntegerField(
        default=0, help_text=_("The version of the references that the judgments go by; 0 for the newest of each.")
    )
    document = models.JSONField(help_text=_("What results.json holds."))
    facts = models.JSONField(help_text=_("What its charts are drawn from."))
    agreement = models.JSONField(default=dict, help_text=_("How its judges agree, and what they lean towards."))
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "summaries"
        constraints = [models.UniqueConstraint(fields=["run", "references"], name="summary_once_a_run")]

    def __str__(self) -> str:
        return f"{self.run_id}, references {self.references}"


class RunPair(models.Model):
    """How a second run differs from a first one on the questions that both asked."""

    first = models.ForeignKey("evaluations.Run", on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey("evaluations.Run", on_delete=models.CASCADE, related_name="+")
    first_model = models.CharField(max_length=100, blank=True, help_text=_("Its name; empty for all that both have."))
    second_model = models.CharField(max_length=100, blank=True)
    document = models.JSONField(default=dict)
    computed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second", "first_model", "second_model"], name="run_pair_once")
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id}"


class VoteSet(models.Model):
    """People's votes on pairs of answers, from a file. Beside those of a run they are held against its judges."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=100, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(
        "evaluations.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="vote_sets"
    )
    report = models.JSONField(default=dict, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name


class PersonVote(models.Model):
    """What one person said of one pair, and what a judge said of the same where the file holds it."""

    vote_set = models.ForeignKey(VoteSet, on_delete=models.CASCADE, related_name="votes")
    question = models.PositiveIntegerField(help_text=_("The question's number in its set."))
    category = models.CharField(max_length=32, blank=True)
    turn = models.PositiveSmallIntegerField()
    model_a = models.CharField(max_length=100)
    model_b = models.CharField(max_length=100)
    person = models.CharField(max_length=100)
    person_says = models.CharField(max_length=32)
    judge = models.CharField(max_length=100, blank=True)
    judge_says = models.CharField(max_length=32, blank=True)

    def __str__(self) -> str:
        return f"{self.person} on {self.question}, turn {self.turn}"
