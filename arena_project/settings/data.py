"""Where things are kept: database, files, cache, channel layer."""

from arena_project.environment import redis_of_test_worker
from arena_project.settings.base import TEST_WORKER, TESTING, VAR, env

# SQLite in VAR, or DATABASE_URL.
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

# Files that people and jobs store; only views hand them out.
MEDIA_ROOT = VAR / "media"

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
