import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from providers.engines.embedded import EmbeddedEngineError, embedded_model_path, port_is_taken

EX_CONFIG = 78  # sysexits.h: starting again would not help


class Command(BaseCommand):
    help = "Serves the embedded model on loopback until it is stopped."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if not settings.EMBEDDED_ENGINE:
                raise EmbeddedEngineError("EMBEDDED_ENGINE is off")
            model = embedded_model_path()
        except EmbeddedEngineError as error:
            self.stderr.write(f"No embedded model: {error}.")
            sys.exit(EX_CONFIG)
        if port_is_taken("127.0.0.1", settings.EMBEDDED_PORT):
            self.stderr.write(f"Port {settings.EMBEDDED_PORT} is taken; EMBEDDED_PORT chooses another.")
            sys.exit(1)
        # Becomes the server, so that neither Django's memory nor a second process stays behind.
        arguments = ["-m", "providers.engines.embedded", str(model), str(settings.EMBEDDED_PORT)]
        os.chdir(settings.BASE_DIR)
        os.execv(sys.executable, [sys.executable, *arguments])
