"""What `manage.py check --deploy` says of our own settings, beside Django's."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.http.request import validate_host


@register(Tags.security, deploy=True)
def settings_fit(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    if not validate_host(host, settings.ALLOWED_HOSTS):
        found.append(Error(f"ALLOWED_HOSTS does not name {host}, the host of PUBLIC_URL.", id="tourney.E001"))
    if not settings.SECURE:
        found.append(
            Warning("PUBLIC_URL is not https, so cookies and passwords travel in the open.", id="tourney.W001")
        )
    elif not settings.BEHIND_PROXY:
        hint = "Set BEHIND_PROXY=true and TRUSTED_PROXIES, or the server cannot know who came by TLS."
        found.append(Warning("PUBLIC_URL is https, and no proxy is declared.", hint=hint, id="tourney.W002"))
    if settings.LOG_PROMPTS:
        found.append(Warning("LOG_PROMPTS=true: what people write gets into the log.", id="tourney.W003"))
    return found
