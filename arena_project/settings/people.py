"""Who may come in and how, and how long what they leave is kept."""

from django.core.exceptions import ImproperlyConfigured

from arena_project.settings.base import env

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
SIGNUP_OPEN = env.bool("SIGNUP_OPEN", default=True)
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_FORMS = {"signup": "accounts.forms.SignUpForm"}
PROOF_OF_WORK = env.list("PROOF_OF_WORK", default=[])
if _unknown := set(PROOF_OF_WORK) - {"signup", "vote"}:
    raise ImproperlyConfigured(f"PROOF_OF_WORK knows signup and vote, and not {', '.join(sorted(_unknown))}")
PROOF_OF_WORK_STEPS = env.int("PROOF_OF_WORK_STEPS", default=200_000)
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = True
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "battles:new"
ACCOUNT_LOGOUT_REDIRECT_URL = "welcome"
EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="Tourney <tourney@localhost>")

# 0 is for ever, but for what people delete themselves.
ACCOUNT_GRACE_DAYS = env.int("ACCOUNT_GRACE_DAYS", default=7)
RETENTION_DELETED_DAYS = env.int("RETENTION_DELETED_DAYS", default=30)
RETENTION_BATTLES_DAYS = env.int("RETENTION_BATTLES_DAYS", default=0)
RETENTION_CONVERSATIONS_DAYS = env.int("RETENTION_CONVERSATIONS_DAYS", default=0)
RETENTION_AUDIT_DAYS = env.int("RETENTION_AUDIT_DAYS", default=0)
