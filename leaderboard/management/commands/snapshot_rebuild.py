"""`manage.py snapshot_rebuild`: make the leaderboard now, here, without the worker."""

from typing import IO, Any, cast

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

from leaderboard import selectors, services


class Command(BaseCommand):
    help = "Makes the leaderboard anew from all votes that count, and prints it."

    def handle(self, *args: Any, **options: Any) -> None:
        made = services.snapshot_rebuild()
        if made is not None:
            services.pairing_refresh(pairs=made.pairs)
        snapshot = selectors.leaderboard_latest()
        console = Console(file=cast(IO[str], self.stdout))
        if snapshot is None:
            console.print("There are no votes yet.")
            return
        state = f"made in {made.seconds:.2f} s" if made else "nothing new since the last one"
        table = Table(title=f"{snapshot.comparisons:,} votes by {snapshot.voters:,} people; {state}")
        for heading in ("Rank", "Model", "Rating", "Elo", "Win rate", "Votes"):
            table.add_column(heading, justify="left" if heading == "Model" else "right")
        for row in snapshot.ratings.all():
            table.add_row(
                "-" if row.rank is None else f"{row.rank_lower}-{row.rank_upper}",
                row.model.name,
                "-" if row.rating is None else f"{row.rating:.0f} ± {row.half_width:.0f}",
                f"{row.elo:.0f}",
                "-" if row.win_rate is None else f"{row.win_rate:.1%}",
                f"{row.comparisons:,}",
            )
        console.print(table)
