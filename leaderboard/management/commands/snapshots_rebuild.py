"""`manage.py snapshots_rebuild`: make the leaderboard now, here, without the worker."""

from typing import IO, Any, cast

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

from leaderboard import services
from leaderboard.shown import shown


class Command(BaseCommand):
    help = "Makes the leaderboard anew from all votes that count, and prints it."

    def handle(self, *args: Any, **options: Any) -> None:
        made = services.snapshots_rebuild()
        asked = shown({})
        snapshot = asked.snapshot
        console = Console(file=cast(IO[str], self.stdout))
        if snapshot is None:
            console.print("There are no votes yet.")
            return
        seconds = sum(each.seconds for each in made)
        state = f"{len(made)} made in {seconds:.2f} s" if made else "nothing new since the last one"
        table = Table(title=f"{snapshot.comparisons:,} votes by {snapshot.voters:,} people; {state}")
        for heading in ("Rank", "Model", "Rating", "Elo", "Win rate", "Votes"):
            table.add_column(heading, justify="left" if heading == "Model" else "right")
        for standing in asked.standings:
            place, row = standing.place, standing.rating
            table.add_row(
                "-" if place.rank is None else f"{place.rank_lower}-{place.rank_upper}",
                row.model.name,
                "-" if place.rating is None else f"{place.rating:.0f} ± {standing.half_width:.0f}",
                f"{row.elo:.0f}",
                "-" if row.win_rate is None else f"{row.win_rate:.1%}",
                f"{row.comparisons:,}",
            )
        console.print(table)
