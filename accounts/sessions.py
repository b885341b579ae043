"""Whether a browser is still logged in, for what lives longer than a request: a page's open connection."""

import hashlib
import logging
from importlib import import_module
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.models import User

log = logging.getLogger(__name__)


def group_of_session(session_key: str) -> str:
    """The channel group of all that is open in this session; it hears `session.over` when the person logs out."""
    return f"session.{hashlib.sha256(session_key.encode()).hexdigest()[:40]}"


def session_lives(*, session_key: str, user_id: int) -> bool:
    """Whether the session is still this person's: not logged out or expired, the account active, the password as it
    was at log-in."""
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or session.get(SESSION_KEY) != str(user_id):
        return False
    return constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())


@receiver(user_logged_out)
def session_over(request: HttpRequest, **signal: Any) -> None:
    """Tell all processes. Where that fails, what is open finds out when it next looks: nobody is kept from leaving."""
    layer, key = get_channel_layer(), request.session.session_key
    if layer is None or not key:
        return
    try:
        async_to_sync(layer.group_send)(group_of_session(key), {"type": "session.over"})
    except Exception:  # whatever the channel layer had
        log.exception("Open pages of a session that is over could not be told")
