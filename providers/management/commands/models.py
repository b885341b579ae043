"""Lists the catalogue."""

from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Column, Table

from providers.models import LanguageModel


class Command(BaseCommand):
    help = "List the models: where they are, whether they can be asked now, and if not, why."

    def handle(self, *args: Any, **options: Any) -> None:
        table = Table(Column("slug", no_wrap=True), "name", "endpoint", "status", "now")
        for model in LanguageModel.objects.select_related("endpoint").order_by("endpoint__name", "slug"):
            table.add_row(model.slug, model.name, str(model.endpoint or ""), model.get_status_display(), _now(model))
        Console().print(table)


def _now(model: LanguageModel) -> str:
    if model.is_active:
        return model.away_because or "can be asked"
    endpoint = model.endpoint
    if endpoint and endpoint.is_enabled and endpoint.needs_key and not endpoint.has_key:
        return f"set {endpoint.api_key_variable}" if endpoint.api_key_variable else "needs a key"
    if endpoint and not endpoint.is_enabled:
        return "its endpoint is disabled"
    return "not offered"
