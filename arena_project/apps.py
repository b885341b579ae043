from django.apps import AppConfig


class ArenaProjectConfig(AppConfig):
    """Only so that Django finds the commands of this folder."""

    name = "arena_project"
