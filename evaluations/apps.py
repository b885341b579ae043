from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "evaluations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Registers its kinds of jobs; the registry must be full first.
        from evaluations import work  # noqa: F401
        from evaluations.questions import uploads  # noqa: F401
        from evaluations.talks import running  # noqa: F401
