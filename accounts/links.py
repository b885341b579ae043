"""The token of a log-in link: nothing is stored, and a log-in ends it."""

from datetime import timedelta

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.utils.http import base36_to_int

from accounts.models import User

LINK_LIVES = timedelta(hours=24)


class LoginLinkTokenGenerator(PasswordResetTokenGenerator):
    """Django's signed token, with its own salt, a shorter life, and the last log-in to the microsecond.

    Django drops the microseconds for databases that do; ours keep them, and without them a link that is used in the
    second of another log-in would stay good.
    """

    key_salt = "accounts.links.LoginLinkTokenGenerator"

    def check_token(self, user: User | None, token: str | None) -> bool:
        if not super().check_token(user, token) or token is None:
            return False
        made = base36_to_int(token.partition("-")[0])
        return self._num_seconds(self._now()) - made <= LINK_LIVES.total_seconds()

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}{user.password}{last_login}{timestamp}"


login_links = LoginLinkTokenGenerator()
