"""Formatted text from the cache: an answer that was rendered once is not rendered again for the next page view."""

import hashlib
from datetime import timedelta

from django.core.cache import caches

from common.markdown import render

KEPT = timedelta(hours=6)
# Longer answers are rare, and would fill the memory.
CACHED_MAX_CHARACTERS = 20_000
# To be raised when the renderer's output changes.
RENDERER_VERSION = 2


def render_cached(text: str) -> str:
    """The same as `render(text)`."""
    if len(text) > CACHED_MAX_CHARACTERS:
        return render(text)
    cache = caches["html"]
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = f"html:{RENDERER_VERSION}:{digest}"
    html: str | None = cache.get(key)
    if html is None:
        html = render(text)
        cache.set(key, html, timeout=KEPT.total_seconds())
    return html
