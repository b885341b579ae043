"""Prompts and what they are about: sets of them, and preferences with their texts that came from files."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Category(models.TextChoices):
    """What a prompt is about: the eight of MT-bench, translation, and the rest."""

    GENERAL = "general", _("General")
    WRITING = "writing", _("Writing")
    ROLEPLAY = "roleplay", _("Roleplay")
    REASONING = "reasoning", _("Reasoning")
    MATH = "math", _("Maths")
    CODING = "coding", _("Coding")
    EXTRACTION = "extraction", _("Extraction")
    STEM = "stem", _("Science")
    HUMANITIES = "humanities", _("Humanities")
    TRANSLATION = "translation", _("Translation")


class LabelSource(models.TextChoices):
    """Who said what a prompt is about, or in which language it is. An administrator's word is never overwritten."""

    AUTHOR = "author", _("Its author")
    RULE = "rule", _("A rule")
    JUDGE = "judge", _("A judge model")
    ADMIN = "admin", _("An administrator")


class PromptSet(models.Model):
    """A named collection of prompts, for suggestions and for runs."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    is_suggested = models.BooleanField(default=False, help_text=_("Offered to people who start a battle."))

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Prompt(models.Model):
    """One prompt of a set."""

    prompt_set = models.ForeignKey(PromptSet, on_delete=models.CASCADE, related_name="prompts")
    title = models.CharField(max_length=60, blank=True, help_text=_("A few words, for the suggestion."))
    text = models.TextField()
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.GENERAL)
    language = models.CharField(max_length=16, default="en")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.title or self.text[:60]


class ImportedPreference(models.Model):
    """A preference from a file with its texts: two answers to one prompt, or one that was called good or bad. It is
    exported, and never rated: whose answers they were is known from the file alone, if at all."""

    prompt_set = models.ForeignKey(PromptSet, on_delete=models.CASCADE, related_name="preferences")
    digest = models.CharField(max_length=64, help_text=_("SHA-256 of the content."))
    prompt = models.JSONField(help_text=_("Messages, as [role, content]."))
    chosen = models.JSONField(default=list, help_text=_("Messages; none where only a bad answer is known."))
    rejected = models.JSONField(default=list, help_text=_("Messages; none where only a good answer is known."))
    chosen_model = models.CharField(max_length=100, blank=True)
    rejected_model = models.CharField(max_length=100, blank=True)
    category = models.CharField(max_length=32, blank=True)
    language = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["prompt_set", "digest"], name="imported_preference_once_a_prompt_set")
        ]

    def __str__(self) -> str:
        return f"{self.prompt_set_id}: {self.digest[:12]}"
