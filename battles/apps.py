from django.apps import AppConfig
from django.db.models.signals import post_delete


class BattlesConfig(AppConfig):
    name = "battles"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from battles import images, models  # the registry must be full first
        from battles.exports import work  # noqa: F401 # registers its kind of job
        from battles.imports import work as imports_work  # noqa: F401 # the same

        post_delete.connect(images.file_delete, sender=models.Image)
