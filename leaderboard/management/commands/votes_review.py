from typing import Any

from django.core.management.base import BaseCommand

from leaderboard.anomalies import votes_review
from leaderboard.models import VoterScore


class Command(BaseCommand):
    help = "Looks for voters who differ from everyone and for bursts, now; the admin shows what stands out."

    def handle(self, *args: Any, **options: Any) -> None:
        review = votes_review()
        odd = review.scores.filter(q__lt=VoterScore.ODD).count()
        self.stdout.write(f"{review.votes} votes, {odd} voters stand out, {len(review.bursts)} bursts.")
