"""Encrypts the pasted keys anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from providers.adapters.base import ProviderError
from providers.keys import keys_rotate


class Command(BaseCommand):
    help = "Encrypt the endpoints' keys with the first of KEY_ENCRYPTION_SECRETS; the others are then needed no more."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"{keys_rotate()} keys encrypted anew")
        except ProviderError as error:
            raise CommandError(str(error)) from error
