"""What may stand in a field of providers."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# Variables of .env.example whose values are secrets, or addresses that may hold a password.
OUR_SECRETS = frozenset({"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "BROKER_URL", "EMAIL_URL"})


def holds_no_secret_of_ours(variable: str) -> None:
    """Raises ValidationError for a variable of Tourney's own: whoever may edit endpoints could have it sent to any
    server."""
    if variable.strip().upper() in OUR_SECRETS:
        raise ValidationError(_("%(variable)s is Tourney's own and is never sent."), params={"variable": variable})
