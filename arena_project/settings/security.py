"""Cookies, TLS, and who is believed about where a request comes from."""

from arena_project.settings.base import PORT, PUBLIC_URL, SECURE, env

CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "arena_project.views.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_NAME = f"tourney_session_{PORT}"
CSRF_COOKIE_NAME = f"tourney_csrf_{PORT}"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Who may say by X-Forwarded-For and X-Forwarded-Proto where a request comes from; everybody else is not believed.
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=["127.0.0.0/8", "::1"]) if BEHIND_PROXY else []
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# With TLS browsers are told to come back by TLS alone, and who comes without is sent there. Probes are answered before.
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=3600 if SECURE else 0)
SECURE_SSL_REDIRECT = SECURE and BEHIND_PROXY
# Whether other names below this one have TLS, too, is not ours to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
