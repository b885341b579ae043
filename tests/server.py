"""A whole Tourney for tests: daphne in a process of its own, with its own folder and database, as a user has it."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path

from tests import prepared
from tests.commands import ROOT, Commands
from tests.ports import free_port

__all__ = ["ROOT", "Account", "Server", "start"]
READY_WITHIN_SECONDS = 120.0
METRICS_TOKEN = "metrics-of-a-test"
# Not a test worker's own, which is emptied after each test; servers side by side do not meet, for ids are unique.
REDIS_DATABASE = 14


@dataclass(frozen=True)
class Account:
    """A person who is logged in already."""

    username: str
    session_key: str
    api_key: str


@dataclass
class Server:
    url: str
    cookie_name: str
    accounts: list[Account]
    process: subprocess.Popen[bytes]
    environment: dict[str, str]
    commands: Commands

    @property
    def ws_url(self) -> str:
        return self.url.replace("http://", "ws://")

    def manage(self, *arguments: str) -> str:
        """Run manage.py against this server's data."""
        return self.commands.run("manage.py", *arguments)

    @property
    def log(self) -> str:
        """What its web processes have logged so far."""
        return (Path(self.environment["TOURNEY_VAR"]) / "web.log").read_text()

    def stop(self) -> None:
        self.shut_down()
        self.commands.stop()

    def shut_down(self) -> None:
        """End the web process; `start_again` begins another."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def twin(self) -> "Server":
        """A second web process on the same data; they share what Redis shares."""
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        process = _daphne(self.environment, address)
        return replace(self, url=address, process=process, commands=Commands(self.environment))

    def start_again(self) -> None:
        """The same data, a new process."""
        self.process = _daphne(self.environment, self.url)


def start(folder: Path, *, upstream_url: str, accounts: int = 10, **variables: str) -> Server:
    """Start a server whose models are all on the fake upstream at `upstream_url` (see tests/server_data.py).

    It uses PostgreSQL or Redis where DATABASE_URL or REDIS_URL name one, in a database of its own.
    """
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")} | {
        "TOURNEY_VAR": str(folder),
        "PORT": str(port),
        "HOST": "127.0.0.1",
        "TOURNEY_PYTHON": sys.executable,
        "BATTLES_PER_HOUR": "100000",
        "API_REQUESTS_PER_MINUTE": "100000",
        "REQUEST_MAX_MB": "12",
        "VOTE_WORDS_PER_MINUTE": "0",
        "VOTES_PER_MINUTE": "0",
        "VOTES_PER_HOUR": "0",
        "BROKER_URL": "memory://",
        "PAGES_PER_MINUTE": "100000",
        "SOCKETS_PER_MINUTE": "100000",
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "DEBUG",
        "METRICS_TOKEN": METRICS_TOKEN,
        **variables,
    }
    if url := environment.get("REDIS_URL", "").strip():
        environment["REDIS_URL"] = f"{url.rpartition('/')[0]}/{REDIS_DATABASE}"
    environment["DATABASE_URL"] = prepared.database_copy(folder, environment.get("DATABASE_URL", "").strip())
    environment["STATIC_ROOT"] = prepared.static()
    commands = Commands(environment)
    made = json.loads(commands.run("-m", "tests.server_data", upstream_url, str(accounts)))
    address = f"http://127.0.0.1:{port}"
    return Server(
        url=address,
        cookie_name=made["cookie_name"],
        accounts=[Account(**account) for account in made["accounts"]],
        process=_daphne(environment, address),
        environment=environment,
        commands=commands,
    )


def _daphne(environment: dict[str, str], address: str) -> subprocess.Popen[bytes]:
    port = address.rsplit(":", 1)[1]
    command = [str(ROOT / "deploy/start.sh"), "web", port]
    log = (Path(environment["TOURNEY_VAR"]) / "web.log").open("ab")
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/v1/models/", timeout=30):
                return process
        except OSError as error:  # URLError is one
            if hasattr(error, "code"):  # it answers: that is all we ask
                return process
            time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"the server did not start:\n{Path(log.name).read_text()}")
