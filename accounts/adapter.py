"""How allauth asks about this installation."""

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Asked anew each time, so that closing sign-up needs no other change."""
        return bool(settings.SIGNUP_OPEN)
