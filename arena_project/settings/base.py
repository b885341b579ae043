"""Where this installation is: its folder, its address, its secrets. The other settings build on these."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from arena_project import __version__
from arena_project.environment import Env, read_env_file
from arena_project.secrets import secret_key_in

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = Env()
read_env_file(BASE_DIR / ".env")

VERSION = __version__
TESTING = "pytest" in sys.modules
TEST_WORKER = env.str("PYTEST_XDIST_WORKER", default="gw0")

# Everything that must be backed up lies in one folder.
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
SECURE = _public.scheme == "https"
