from django.apps import AppConfig


class ArenaProjectConfig(AppConfig):
    """So that Django finds the commands of this folder, its tasks and its checks."""

    name = "arena_project"

    def ready(self) -> None:
        from arena_project import deploy_checks, tasks_observed  # noqa: F401 # they register themselves
        from arena_project.people import exporting  # noqa: F401 # the same
