"""The rules of the arena: how much may be asked for, how pairs are drawn, which votes count."""

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from arena_project.settings.base import env

# How much may be asked for: docs/operations.md lists all of it.
API_REQUESTS_PER_MINUTE = env.int("API_REQUESTS_PER_MINUTE", default=600)
USER_MONTHLY_BUDGET = env.decimal("USER_MONTHLY_BUDGET", default=None)
PAGES_PER_MINUTE = env.int("PAGES_PER_MINUTE", default=1200)
SOCKETS_PER_MINUTE = env.int("SOCKETS_PER_MINUTE", default=120)
JOBS_PER_HOUR = env.int("JOBS_PER_HOUR", default=120)
BATTLES_PER_HOUR = env.int("BATTLES_PER_HOUR", default=120)
REQUEST_MAX_MB = env.int("REQUEST_MAX_MB", default=64)
PROMPT_MAX_CHARACTERS = env.int("PROMPT_MAX_CHARACTERS", default=20_000)
CONVERSATIONS_PER_HOUR = env.int("CONVERSATIONS_PER_HOUR", default=120)
EXPERIMENT_CONVERSATIONS_MAX = env.int("EXPERIMENT_CONVERSATIONS_MAX", default=10_000)
CONVERSATION_TURNS_MAX = env.int("CONVERSATION_TURNS_MAX", default=200)
IMAGE_MAX_MB = env.int("IMAGE_MAX_MB", default=10)
IMAGES_PER_HOUR = env.int("IMAGES_PER_HOUR", default=240)

# Battles.
REDRAW_FAILED_SIDES = env.bool("REDRAW_FAILED_SIDES", default=True)
CATEGORY_RULES = env.str("CATEGORY_RULES", default="")
CATEGORY_JUDGE = env.str("CATEGORY_JUDGE", default="")
VOTE_REASONS = env.list("VOTE_REASONS", default=["correct", "helpful", "clear", "instructions", "style", "harmless"])

# Which votes count (docs/integrity.md), and who meets whom.
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
