"""Serves the embedded model where `manage.py run` does not: under systemd, for example."""

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Serve the embedded model on loopback until it is stopped."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        # Becomes the server, so that neither Django's memory nor a second process stays behind.
        os.chdir(settings.BASE_DIR)
        os.execv(sys.executable, [sys.executable, "-m", "providers.engines.embedded", str(settings.EMBEDDED_PORT)])
