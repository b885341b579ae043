from django.apps import AppConfig
from django.db.models.signals import post_migrate


class LeaderboardConfig(AppConfig):
    name = "leaderboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from leaderboard.boards import main_board_create

        post_migrate.connect(main_board_create, sender=self)
