from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from accounts import audit, openapi, sessions  # noqa: F401 - the last two register themselves
        from common.audit import kept_by

        kept_by(audit.deeds_keep)
        post_migrate.connect(audit.log_protect, sender=self)
