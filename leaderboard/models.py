"""Comparisons in, ratings out. Knows nothing of battles: others push their comparisons down into it."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from providers.models import LanguageModel

MAIN = "main"
# The mode of comparisons of whole conversations of models: another question than which answer is better, so that only
# boards whose modes name it count them.
TALK = "talk"


class Board(models.Model):
    """A saved filter over the comparisons, with a leaderboard of its own. What is empty filters nothing.

    The main board, slug `main`, is all blind votes of people on this server.
    """

    class Source(models.TextChoices):
        PEOPLE = "battle", _("People, here")
        JUDGES = "judge", _("Judge models")
        IMPORTS = "import", _("Imported")
        TALKS = "conversation", _("People, on conversations of models")

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    is_public = models.BooleanField(default=True, help_text=_("Shown to everybody; else to administrators only."))
    position = models.PositiveIntegerField(default=100, help_text=_("Place among the tabs, lowest first."))
    blind_only = models.BooleanField(default=True, help_text=_("A name that is seen is judged with the answer."))
    modes = models.JSONField(
        default=list, blank=True, help_text=_('For example ["blind", "lineup"]; empty for all but ["talk"].')
    )
    sources = models.JSONField(
        default=list, blank=True, help_text=_('Some of "battle", "judge", "import" and "conversation"; empty for all.')
    )
    imported_as = models.SlugField(blank=True, help_text=_("Only what was imported into the board of this slug."))
    category = models.CharField(max_length=32, blank=True)
    language = models.CharField(max_length=16, blank=True)
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    group = models.ForeignKey(
        "auth.Group",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Only votes of these people."),
    )
    minimum_comparisons = models.PositiveIntegerField(
        default=30, help_text=_("Models with fewer are marked as preliminary.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    def counted(self) -> "ComparisonQuerySet":
        """Those that ratings are made of."""
        return self.filter(exclusion="")


class Comparison(models.Model):
    """One judgement on two models: the one fact table of all ratings. Narrow and indexed, so that a leaderboard is
    one GROUP BY."""

    class Outcome(models.TextChoices):
        A = "a", _("A is better")
        B = "b", _("B is better")
        TIE = "tie", _("Tie")
        BOTH_BAD = "both_bad", _("Both bad")

    model_a = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+", db_index=False)
    model_b = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    source_kind = models.CharField(max_length=20, help_text=_("Where it comes from, for example battle."))
    source_id = models.CharField(max_length=64)
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    judge = models.CharField(
        max_length=100, blank=True, help_text=_("Who judged, if no user: a judge model, or an imported pseudonym.")
    )
    board = models.SlugField(blank=True, db_index=False, help_text=_("The board that it was imported into."))
    mode = models.CharField(max_length=8, blank=True, help_text=_("How it was asked: blind, named, lineup, talk."))
    is_blind = models.BooleanField(default=True)
    category = models.CharField(max_length=32, blank=True)
    language = models.CharField(max_length=16, blank=True)
    weight = models.FloatField(default=1)
    style_length = models.FloatField(null=True, help_text=_("Length of a's answer less b's, by their sum: -1 to 1."))
    style_headers = models.FloatField(null=True)
    style_bold = models.FloatField(null=True)
    style_lists = models.FloatField(null=True)
    exclusion = models.CharField(max_length=32, blank=True, help_text=_("Why it does not count; empty if it does."))
    created_at = models.DateTimeField()

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source_kind", "source_id", "model_a", "model_b"], name="comparison_once_a_source_and_pair"
            ),
            models.CheckConstraint(
                condition=~models.Q(model_a=models.F("model_b")), name="comparison_between_two_models"
            ),
            models.CheckConstraint(condition=models.Q(weight__gt=0), name="comparison_weight_is_positive"),
        ]
        indexes = [
            # Covers the GROUP BY of a rebuild: it is answered from the index alone.
            models.Index(
                fields=[
                    "exclusion",
                    "is_blind",
                    "source_kind",
                    "model_a",
                    "model_b",
                    "outcome",
                    "category",
                    "language",
                    "mode",
                    "board",
                    "weight",
                    "id",
                ],
                name="comparison_counts",
            ),
            # How many people, since when and until when: each answered from an index alone, too.
            models.Index(fields=["exclusion", "is_blind", "source_kind", "voter"], name="comparison_voters"),
            models.Index(fields=["exclusion", "is_blind", "source_kind", "created_at"], name="comparison_times"),
        ]

    def __str__(self) -> str:
        return f"{self.model_a_id} against {self.model_b_id}: {self.outcome}"


class Snapshot(models.Model):
    """A computed leaderboard with everything that is needed to compute it again: of a board, of one category or one
    language of it, or of one person's votes on it."""

    board = models.ForeignKey(Board, on_delete=models.CASCADE, related_name="snapshots")
    category = models.CharField(max_length=32, blank=True)
    language = models.CharField(max_length=16, blank=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    parameters = models.JSONField(default=dict, help_text=_("What was asked of the statistics."))
    fit = models.JSONField(default=dict, help_text=_("How the fit went: solver, iterations, likelihood."))
    pairs = models.JSONField(
        default=list,
        help_text=_("Pairs as [model, model, wins, wins, ties, both bad]; in the newest snapshot only."),
    )
    extras = models.JSONField(
        default=dict, help_text=_("Other methods, history and effects; in the newest snapshot only.")
    )
    left_out = models.JSONField(default=dict, help_text=_("Comparisons that do not count, by the reason."))
    comparisons = models.PositiveIntegerField(help_text=_("Comparisons used, both bad included."))
    voters = models.PositiveIntegerField()
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    last_comparison_id = models.BigIntegerField(default=0)
    id_sum = models.BigIntegerField(
        default=0, help_text=_("Sum of the ids used: with their number it tells whether older votes have changed.")
    )
    computed_at = models.DateTimeField(auto_now_add=True)
    seconds = models.FloatField()
    code_version = models.CharField(max_length=40)

    class Meta:
        ordering = ["-id"]
        get_latest_by = "id"
        indexes = [models.Index(fields=["board", "person", "category", "language", "id"], name="snapshot_newest")]

    def __str__(self) -> str:
        return f"Snapshot {self.pk}: {self.comparisons} comparisons"


class Rating(models.Model):
    """One model's row of a snapshot. Ratings and Elo are on the scale 400, base 10, mean 1000."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="ratings")
    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="+")
    rank = models.PositiveIntegerField(null=True)
    rank_lower = models.PositiveIntegerField(null=True, help_text=_("Best rank that the votes allow."))
    rank_upper = models.PositiveIntegerField(null=True, help_text=_("Worst rank that the votes allow."))
    rating = models.FloatField(null=True)
    rating_lower = models.FloatField(null=True)
    rating_upper = models.FloatField(null=True)
    tier = models.PositiveIntegerField(null=True, help_text=_("1 the best; models of one are not told apart."))
    group = models.IntegerField(
        default=0, help_text=_("Models are compared within their group only; 0 is the one that is rated, -1 none.")
    )
    is_one_sided = models.BooleanField(
        default=False, help_text=_("Only won, or only lost: finite by a weak prior alone.")
    )
    elo = models.FloatField(null=True, help_text=_("Null in a person's own ranking."))
    wins = models.PositiveIntegerField()
    losses = models.PositiveIntegerField()
    ties = models.PositiveIntegerField()
    both_bad = models.PositiveIntegerField()
    comparisons = models.PositiveIntegerField()
    win_rate = models.FloatField(null=True)
    win_rate_lower = models.FloatField(null=True)
    win_rate_upper = models.FloatField(null=True)

    class Meta:
        ordering = ["rank", "model_id"]
        constraints = [models.UniqueConstraint(fields=["snapshot", "model"], name="rating_once_a_snapshot_and_model")]

    def __str__(self) -> str:
        return f"{self.model_id}: {self.rating}"

    @property
    def half_width(self) -> float | None:
        """Half of the interval, in points: the figure after the ±."""
        if self.rating_lower is None or self.rating_upper is None:
            return None
        return (self.rating_upper - self.rating_lower) / 2

    @property
    def both_bad_rate(self) -> float | None:
        return self.both_bad / self.comparisons if self.comparisons else None

    @property
    def win_rate_percent(self) -> float | None:
        return None if self.win_rate is None else 100 * self.win_rate

    @property
    def both_bad_percent(self) -> float | None:
        return None if self.both_bad_rate is None else 100 * self.both_bad_rate


class Pairing(models.Model):
    """How useful the next vote on each pair of models would be, by the votes so far. There is one row, made anew with
    the leaderboard and read whole by each draw."""

    model_ids = models.JSONField(default=list, help_text=_("Ids of the n models that may be drawn."))
    votes = models.JSONField(default=list, help_text=_("How many comparisons each of them has."))
    scores = models.BinaryField(default=bytes, help_text=_("Scores of the pairs: n times n little-endian float32."))
    computed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"Pairing of {len(self.model_ids)} models"


class Review(models.Model):
    """What stood out among the votes at one time; see `anomalies`."""

    votes = models.PositiveIntegerField()
    left_out = models.PositiveIntegerField(help_text=_("Of them, do not count."))
    ratings = models.JSONField(default=list, help_text=_("Per model: from the votes that count, and from all."))
    bursts = models.JSONField(default=list)
    seconds = models.FloatField()
    computed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = _("review of votes")
        verbose_name_plural = _("reviews of votes")

    def __str__(self) -> str:
        return f"Review {self.pk}: {self.votes} votes"


class VoterScore(models.Model):
    """How far a person's votes differ from everyone's, in the newest review."""

    ODD = 0.05  # of those whose q is below, so many are honest people whom chance has put here

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="scores")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    decided = models.PositiveIntegerField(help_text=_("Votes for one of two models that others rate."))
    z = models.FloatField(help_text=_("Agreement with everyone, in standard deviations; negative is disagreement."))
    p = models.FloatField(help_text=_("The chance that an honest person disagrees as much."))
    q = models.FloatField(help_text=_("The same with regard to how many voters there are."))

    class Meta:
        ordering = ["q", "p", "z"]
        constraints = [models.UniqueConstraint(fields=["review", "voter"], name="score_once_a_review_and_voter")]

    def __str__(self) -> str:
        return f"{self.voter_id}: {self.q:.2g}"
