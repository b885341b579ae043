"""The one settings file. Every variable is described in .env.example; none is needed to start."""

import os
import socket
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from arena_project import __version__
from arena_project.environment import Env, read_env_file, redis_of_test_worker
from arena_project.secrets import secret_key_in
from common.proxies import networks_of

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env()
read_env_file(BASE_DIR / ".env")

VERSION = __version__
TESTING = "pytest" in sys.modules
TEST_WORKER = env.str("PYTEST_XDIST_WORKER", default="gw0")

# --- State: everything that must be backed up lies in one folder -----------------------------------------
VAR = Path(env.str("TOURNEY_VAR", default=str(BASE_DIR / "var"))).resolve()
VAR = VAR / "tests" / TEST_WORKER if TESTING else VAR
VAR.mkdir(parents=True, exist_ok=True)

PORT = env.int("PORT", default=8000)
HOST = env.str("HOST", default="127.0.0.1")
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or secret_key_in(VAR)
# Encrypts the keys that administrators paste. Several, where the first is new: `manage.py keys_rotate`.
KEY_ENCRYPTION_SECRETS = env.list("KEY_ENCRYPTION_SECRETS", default=[]) or [secret_key_in(VAR, "key_encryption_secret")]
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
PUBLIC_URL = env.str("PUBLIC_URL", default=f"http://localhost:{PORT}").rstrip("/")
_public = urlsplit(PUBLIC_URL)
if _public.scheme not in ("http", "https") or not _public.hostname:
    raise ImproperlyConfigured("PUBLIC_URL must be a whole address, for example https://arena.example.org")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "arena_project.views.csrf_failure"
SECURE = _public.scheme == "https"

# --- Where requests to models may go: allow, loopback (the internet and this machine), forbid (the internet only) ---
PRIVATE_ENDPOINTS = env.str("PRIVATE_ENDPOINTS", default="allow")
if PRIVATE_ENDPOINTS not in ("allow", "loopback", "forbid"):
    raise ImproperlyConfigured("PRIVATE_ENDPOINTS must be allow, loopback or forbid")

# --- Apps ------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    # Only for its `runserver`: it would load Twisted into every other process, too.
    *(["daphne"] if "runserver" in sys.argv else []),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "accounts",
    "providers",
    "leaderboard",
    "battles",
    "conversations",
    "evaluations",
    "arena_project",
]

MIDDLEWARE = [
    "arena_project.observing.ObservingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "common.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "arena_project.page_limits.PageLimitMiddleware",
]

ROOT_URLCONF = "arena_project.urls"
ASGI_APPLICATION = "arena_project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "libraries": {"charts": "common.templatetags.charts"},
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "arena_project.context.site",
            ],
        },
    },
]

# --- Database: SQLite in VAR, or DATABASE_URL ------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR / 'tourney.sqlite3'}")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file in tests too: a database in memory is not shared by threads the way that a real one is.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;"
        ),
    }
else:
    # Each request has a thread of its own, so a connection that outlives its request would serve no other.
    DATABASES["default"]["CONN_MAX_AGE"] = 0
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Files that people and jobs store; only views hand them out ------------------------------------------
MEDIA_ROOT = VAR / "media"

# --- Redis, where there is one: cache, channel layer, broker ---------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="")
if REDIS_URL and TESTING:
    REDIS_URL = redis_of_test_worker(REDIS_URL, TEST_WORKER)
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "tourney",
            # One that hangs must not take the threads of the server with it.
            "OPTIONS": {"socket_timeout": 2.0, "socket_connect_timeout": 1.0},
        }
    }
    CACHES["html"] = CACHES["default"] | {"KEY_PREFIX": "tourney-html"}
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            # Waiting for a message takes up to 5 s, which is where redis-py would give up by itself.
            "CONFIG": {
                "hosts": [{"address": REDIS_URL, "socket_timeout": 30}],
                "capacity": 2000,
                "prefix": "tourney",
            },
        }
    }
else:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": "tourney",
            "OPTIONS": {"MAX_ENTRIES": 20_000},
        },
        # Apart, so that large pages never drive out limits and locks.
        "html": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": "html",
            "OPTIONS": {"MAX_ENTRIES": 2_000},
        },
    }
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 2000}}}

# --- Celery: the broker URL is the only difference between one machine and many --------------------------
CELERY_BROKER_URL = env.str("BROKER_URL", default=REDIS_URL or "filesystem://localhost")
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {}
if CELERY_BROKER_URL.startswith("filesystem"):
    _broker = VAR / "broker"
    for _name in ("messages", "control"):
        (_broker / _name).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker / "messages"),
        "data_folder_out": str(_broker / "messages"),
        "control_folder": str(_broker / "control"),
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 10, "socket_connect_timeout": 3}
CELERY_WORKER_POOL = "arena_project.worker_pool:Threads"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_DEFAULT_QUEUE = "tourney"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# What `celery beat`, or the one worker of one machine itself, asks for, by task and seconds: nothing here is the only
# way to anything, but what a dead process or a broker that was away has left behind is found. A question that waits
# longer than its turn is not asked twice.
_PERIODIC = {
    "leftovers_clear": 30,
    "jobs_sweep": 60,
    "flags_sweep": 600,
    "battles_describe": 600,
    "images_purge": 3_600,
    "people_erase_due": 3_600,
    "retention_apply": 86_400,
}
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}} for name, seconds in _PERIODIC.items()
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "celerybeat-schedule")

# --- How long things are kept; 0 is for ever, but for what people delete themselves ------------------------
ACCOUNT_GRACE_DAYS = env.int("ACCOUNT_GRACE_DAYS", default=7)
RETENTION_DELETED_DAYS = env.int("RETENTION_DELETED_DAYS", default=30)
RETENTION_BATTLES_DAYS = env.int("RETENTION_BATTLES_DAYS", default=0)
RETENTION_CONVERSATIONS_DAYS = env.int("RETENTION_CONVERSATIONS_DAYS", default=0)
RETENTION_AUDIT_DAYS = env.int("RETENTION_AUDIT_DAYS", default=0)

# --- People ----------------------------------------------------------------------------------------------
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

# --- API -------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.ApiKeyAuthentication",
        "accounts.authentication.BrowserSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.api.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "common.api.Pagination",
    "DEFAULT_SCHEMA_CLASS": "common.openapi.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["accounts.throttles.RequestThrottle"],
    "EXCEPTION_HANDLER": "common.api.exception_handler",
    "DEFAULT_VERSIONING_CLASS": None,
    "NUM_PROXIES": 0,  # common.proxies has put the client's address where Django looks for it
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tourney",
    "DESCRIPTION": "A self-hosted arena for language models.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "ENUM_NAME_OVERRIDES": {
        "SideLabel": ["a", "b"],
        "ReactionValue": "battles.models.Reaction.Value",
        "AgentSide": "conversations.models.Side",
        "JudgingMode": ["single", "pair"],
        "ModeEnum": "battles.models.Battle.Mode",
        "GenerationStatus": "providers.models.GeneratedText.Status",
        "EvaluationMode": "evaluations.models.Run.Mode",
        "JudgmentState": ["ok", "parse", "out_of_range", "refused", "rate", "timeout", "upstream"],
    },
}
API_REQUESTS_PER_MINUTE = env.int("API_REQUESTS_PER_MINUTE", default=600)
USER_MONTHLY_BUDGET = env.decimal("USER_MONTHLY_BUDGET", default=None)
REDRAW_FAILED_SIDES = env.bool("REDRAW_FAILED_SIDES", default=True)
PAGES_PER_MINUTE = env.int("PAGES_PER_MINUTE", default=1200)
SOCKETS_PER_MINUTE = env.int("SOCKETS_PER_MINUTE", default=120)
JOBS_PER_HOUR = env.int("JOBS_PER_HOUR", default=120)
BATTLES_PER_HOUR = env.int("BATTLES_PER_HOUR", default=120)
REQUEST_MAX_MB = env.int("REQUEST_MAX_MB", default=64)

# --- Battles ---------------------------------------------------------------------------------------------
PROMPT_MAX_CHARACTERS = env.int("PROMPT_MAX_CHARACTERS", default=20_000)
CONVERSATIONS_PER_HOUR = env.int("CONVERSATIONS_PER_HOUR", default=120)
EXPERIMENT_CONVERSATIONS_MAX = env.int("EXPERIMENT_CONVERSATIONS_MAX", default=10_000)
CONVERSATION_TURNS_MAX = env.int("CONVERSATION_TURNS_MAX", default=200)
IMAGE_MAX_MB = env.int("IMAGE_MAX_MB", default=10)
IMAGES_PER_HOUR = env.int("IMAGES_PER_HOUR", default=240)
CATEGORY_RULES = env.str("CATEGORY_RULES", default="")
CATEGORY_JUDGE = env.str("CATEGORY_JUDGE", default="")
VOTE_REASONS = env.list("VOTE_REASONS", default=["correct", "helpful", "clear", "instructions", "style", "harmless"])

# --- Votes that do not count: see docs/integrity.md ------------------------------------------------------
VOTE_LEAST_SECONDS = env.float("VOTE_LEAST_SECONDS", default=1.0)
VOTE_WORDS_PER_MINUTE = env.int("VOTE_WORDS_PER_MINUTE", default=1500)
REVIEW_DELAY = timedelta(minutes=env.float("REVIEW_DELAY_MINUTES", default=10.0))
VOTES_PER_MINUTE = env.int("VOTES_PER_MINUTE", default=10)
VOTES_PER_HOUR = env.int("VOTES_PER_HOUR", default=120)
SNAPSHOT_DELAY = timedelta(seconds=env.float("SNAPSHOT_DELAY_SECONDS", default=2.0))
PAIRING = env.str("PAIRING", default="active")
if PAIRING not in ("uniform", "weighted", "active"):
    raise ImproperlyConfigured("PAIRING must be uniform, weighted or active")
PAIRING_BOOST = env.float("PAIRING_BOOST", default=3.0)
PAIRING_BOOST_VOTES = env.int("PAIRING_BOOST_VOTES", default=50)
if not 1 <= PAIRING_BOOST <= 100:
    raise ImproperlyConfigured("PAIRING_BOOST must be from 1 to 100")

# --- The embedded engine ---------------------------------------------------------------------------------
EMBEDDED_ENGINE = env.bool("EMBEDDED_ENGINE", default=True)
EMBEDDED_PORT = env.int("EMBEDDED_PORT", default=PORT + 1)
# Where models of our own engines are downloaded to, a folder each.
MODELS = Path(env.str("MODELS", default=str(VAR / "models"))).resolve()

# --- Engines of our own (vLLM), which `manage.py engines run` looks after ----------------------------------
ENGINE_PYTHON = env.str("ENGINE_PYTHON", default="")
ENGINE_ASLEEP = env.str("ENGINE_ASLEEP", default="wait")
if ENGINE_ASLEEP not in ("wait", "another"):
    raise ImproperlyConfigured("ENGINE_ASLEEP must be wait or another")
ENGINE_WAIT_SECONDS = env.float("ENGINE_WAIT_SECONDS", default=300.0)
ENGINE_START_SECONDS = env.float("ENGINE_START_SECONDS", default=1800.0)
ENGINE_DRAIN_SECONDS = env.float("ENGINE_DRAIN_SECONDS", default=120.0)
if min(ENGINE_WAIT_SECONDS, ENGINE_START_SECONDS) <= 0 or ENGINE_DRAIN_SECONDS < 0:
    raise ImproperlyConfigured("ENGINE_WAIT_SECONDS and ENGINE_START_SECONDS must be more than 0")
MODELS_OFFLINE = env.bool("MODELS_OFFLINE", default=False)

# --- Pages -----------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(VAR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if TESTING or DEBUG
            else "common.storage.HashedStaticStorage"
        )
    },
}
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = TESTING or DEBUG

# --- Metrics: served to whoever has the token or comes from these addresses; without either there are none ----
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
METRICS_FROM = env.list("METRICS_FROM", default=[])
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(VAR / "metrics" / socket.gethostname())))
METRICS_WORKER_PORT = env.int("METRICS_WORKER_PORT", default=0)
METRICS_WORKER_HOST = env.str("METRICS_WORKER_HOST", default="127.0.0.1")
try:
    networks_of(METRICS_FROM)
except ValueError as error:
    raise ImproperlyConfigured(f"METRICS_FROM must be addresses or networks: {error}") from error
if (METRICS_TOKEN or METRICS_FROM or METRICS_WORKER_PORT) and not TESTING:
    METRICS_DIR.mkdir(parents=True, exist_ok=True)
    # Read by prometheus_client when common.metrics is imported: all processes of this host count together.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)
OTEL = env.bool("OTEL", default=False)

# --- Logs: JSON where this is a real server, plain where somebody looks at a terminal ---------------------
LOG_FORMAT = env.str("LOG_FORMAT", default="json" if SECURE else "plain")
if LOG_FORMAT not in ("json", "plain"):
    raise ImproperlyConfigured("LOG_FORMAT must be json or plain")
LOG_REQUESTS = env.bool("LOG_REQUESTS", default=LOG_FORMAT == "json")
LOG_PROMPTS = env.bool("LOG_PROMPTS", default=False)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "common.logs.PlainFormatter"},
        "json": {"()": "common.logs.JSONFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # At DEBUG these log what is sent, or every statement of SQL with its values.
        **{
            name: {"level": "DEBUG" if LOG_PROMPTS else "INFO"}
            for name in ("openai", "anthropic", "django.db.backends")
        },
        **{name: {"level": "INFO"} for name in ("httpcore2", "markdown_it")},
        "daphne": {"level": "WARNING"},
        "stamina": {"level": "ERROR"},  # providers.client says more of each retry
        "django.channels.server": {"level": "WARNING"},
    },
}
