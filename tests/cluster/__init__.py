"""Tourney as several hosts run it, on loopback: PostgreSQL, Redis, two web processes, two workers, beat, a proxy with
TLS, a fake upstream and, where it is wanted, `engines run` with a fake vLLM, each a process of its own that may be
killed. Nothing of this machine's own servers is used."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg2

from tests.cluster.parts import ROOT, Part, listens
from tests.ports import free_port
from tests.providers.fake_engines import interpreter
from tests.server import Account

START = str(ROOT / "deploy/start.sh")
SITE = "localhost"
ENGINE = "axolotl-engine"


class Missing(Exception):
    """A program of Debian's that a cluster needs is not installed."""


@dataclass(frozen=True)
class Door:
    """What a `tests.live.Person` needs to know of a server: the cluster, as one of its proxies shows it."""

    url: str
    cookie_name: str
    accounts: list[Account]

    @property
    def ws_url(self) -> str:
        return self.url.replace("http", "ws", 1)


class Cluster:
    """`with Cluster(folder, accounts=20) as cluster:` brings all of it up, and takes all of it down.

    `parts` holds the processes by name. Of the `proxies` (nginx, caddy) the first is the one that `door` leads through.
    `engine` is the model (tests/fakes/vllm.py) of an engine of our own, ENGINE; empty for none.
    """

    def __init__(
        self,
        folder: Path,
        *,
        accounts: int = 20,
        proxies: Sequence[str] = ("nginx",),
        webs: int = 2,
        workers: int = 2,
        engine: str = "",
        **variables: str,
    ) -> None:
        self.folder = folder
        self.count = accounts
        self.proxies = proxies
        self.engine = engine
        self.webs = [f"web{n}" for n in range(1, webs + 1)]
        self.workers = [f"worker{n}" for n in range(1, workers + 1)]
        named = [
            "postgresql",
            "redis",
            "upstream",
            "engine",
            *self.webs,
            *proxies,
            *(f"{proxy}-http" for proxy in proxies),
        ]
        self.ports = {name: free_port() for name in named}
        self.database_url = f"postgresql://postgres@127.0.0.1:{self.ports['postgresql']}/postgres"
        self.environment = self._environment(variables)
        self.parts: dict[str, Part] = {}
        self.accounts: list[Account] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def door(self) -> Door:
        """The way that people take."""
        return self.door_of(self.proxies[0])

    def door_of(self, name: str) -> Door:
        """The way through one proxy, or past all of them to one web process."""
        scheme = "https" if name in self.proxies else "http"
        url = f"{scheme}://{SITE}:{self.ports[name]}"
        return Door(url, f"tourney_session_{self.environment['PORT']}", self.accounts)

    def stop(self) -> None:
        for part in reversed(self.parts.values()):
            part.stop()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the database itself, past everything that Tourney may keep."""
        connection = psycopg2.connect(self.database_url)
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    # --- inside ---

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return inherited | {
            "TOURNEY_VAR": str(self.folder / "var"),
            "TOURNEY_PYTHON": sys.executable,
            "PORT": "8000",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": f"redis://127.0.0.1:{self.ports['redis']}/0",
            "PUBLIC_URL": f"https://{SITE}:{self.ports[self.proxies[0]]}",
            "ALLOWED_HOSTS": SITE,
            "BEHIND_PROXY": "true",
            "EMBEDDED_ENGINE": "false",
            "BATTLES_PER_HOUR": "1000000",
            "API_REQUESTS_PER_MINUTE": "1000000",
            "VOTE_LEAST_SECONDS": "0",
            "VOTE_WORDS_PER_MINUTE": "0",
            "VOTES_PER_MINUTE": "0",
            "VOTES_PER_HOUR": "0",
            **variables,
        }

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)  # PostgreSQL runs as somebody else, and must come by
        for part in (self._postgresql(), self._redis(), self._upstream()):
            self.parts[part.name] = part
            part.start()
        self.run(START, "prepare")
        upstream = f"http://127.0.0.1:{self.ports['upstream']}/v1"
        made = json.loads(self.run(sys.executable, "-m", "tests.server_data", upstream, str(self.count)))
        self.accounts = [Account(**account) for account in made["accounts"]]
        if self.engine:
            self.run(START, "engines", "add", ENGINE, self.engine, "--port", str(self.ports["engine"]))
        mine = [self._tourney(name, "web", str(self.ports[name])) for name in self.webs]
        mine += [self._tourney(name, "worker") for name in self.workers] + [self._tourney("beat", "beat")]
        mine += [self._engines()] if self.engine else []
        mine += [self._caddy() if proxy == "caddy" else self._nginx() for proxy in self.proxies]
        for part in mine:
            self.parts[part.name] = part
            part.begin()
        for part in mine:
            part.wait_until_ready()

    def _tourney(self, name: str, *what: str) -> Part:
        is_ready = (lambda: _answers(self.ports[name])) if name in self.webs else (lambda: True)
        return Part(name, [START, *what], self.folder, is_ready, self.environment)

    def _postgresql(self) -> Part:
        data, port = self.folder / "postgresql", self.ports["postgresql"]
        user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to be root
        data.mkdir(mode=0o700)
        if user:
            shutil.chown(data, user, user)
        make = [needed("initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--no-sync"]
        subprocess.run(
            make, check=True, capture_output=True, cwd="/", user=user, group=user, extra_groups=[] if user else None
        )
        command = [needed("postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", "", "-N", "200"]
        # Fast: whoever is connected is sent away, as in a restart.
        return Part("postgresql", command, self.folder, self._database_answers, user=user, stop_signal=signal.SIGINT)

    def _database_answers(self) -> bool:
        try:
            psycopg2.connect(self.database_url, connect_timeout=1).close()
        except psycopg2.OperationalError:
            return False
        return True

    def _redis(self) -> Part:
        data, port = self.folder / "redis", self.ports["redis"]
        data.mkdir()
        command = [needed("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(data)]
        return Part("redis", [*command, "--save", "", "--appendonly", "yes"], self.folder, lambda: listens(port))

    def _upstream(self) -> Part:
        port = self.ports["upstream"]
        return Part("upstream", [sys.executable, "-m", "tests.fakes", str(port)], self.folder, lambda: listens(port))

    def _engines(self) -> Part:
        """`engines run`, as its unit of systemd starts it. Its guard and its engine are in sessions of their own: a
        kill of this part is none of theirs."""
        environment = self.environment | {"ENGINE_PYTHON": interpreter(self.folder)}
        command = [START, "engines", "run"]
        return Part("engines", command, self.folder, lambda: listens(self.ports["engine"]), environment)

    def _caddy(self) -> Part:
        web = " ".join(f"127.0.0.1:{self.ports[name]}" for name in self.webs)
        environment = self.environment | {
            "SITE": SITE,
            "WEB": web,
            "HTTP_PORT": str(self.ports["caddy-http"]),
            "HTTPS_PORT": str(self.ports["caddy"]),
            "XDG_DATA_HOME": str(self.folder / "caddy"),
            "XDG_CONFIG_HOME": str(self.folder / "caddy"),
        }
        command = [needed("caddy"), "run", "--adapter", "caddyfile", "--config", str(ROOT / "deploy/proxy/Caddyfile")]
        authority = self.folder / "caddy/caddy/pki/authorities/local/root.crt"
        return Part("caddy", command, self.folder, lambda: self._is_served("caddy", authority), environment)

    def _nginx(self) -> Part:
        """The file as it stands, but for names and numbers."""
        authority, key, conf = (self.folder / name for name in ("site.crt", "site.key", "nginx.conf"))
        self.run(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={SITE}",
            "-addext", f"subjectAltName=DNS:{SITE}", "-keyout", str(key), "-out", str(authority),
        )  # fmt: skip
        text = nginx_text()
        for found, mine in {
            "/etc/letsencrypt/live/arena.example.org/fullchain.pem": str(authority),
            "/etc/letsencrypt/live/arena.example.org/privkey.pem": str(key),
            "arena.example.org": SITE,
            "listen 80;": f"listen 127.0.0.1:{self.ports['nginx-http']};",
            "listen 443": f"listen 127.0.0.1:{self.ports['nginx']}",
            "127.0.0.1:8001": f"127.0.0.1:{self.ports['web1']}",
            "127.0.0.1:8002": f"127.0.0.1:{self.ports['web2']}",
        }.items():
            assert found in text, found
            text = text.replace(found, mine)
        conf.write_text(nginx_whole(text, self.folder))
        command = [needed("nginx"), "-p", str(self.folder), "-c", str(conf), "-e", "stderr"]
        return Part("nginx", command, self.folder, lambda: self._is_served("nginx", authority))

    def _is_served(self, proxy: str, authority: Path) -> bool:
        """Whether a page comes through; from then on this process believes the proxy's certificate."""
        if not authority.is_file():
            return False
        context = ssl.create_default_context(cafile=str(authority))
        try:
            with urllib.request.urlopen(f"{self.door_of(proxy).url}/account/login/", timeout=5, context=context):
                pass
        except OSError:
            return False
        believed = self.folder / "authorities.pem"
        with believed.open("a") as file:
            file.write(authority.read_text())
        os.environ["SSL_CERT_FILE"] = str(believed)
        return True


def nginx_text() -> str:
    return (ROOT / "deploy/proxy/nginx.conf").read_text()


def nginx_whole(site: str, folder: Path) -> str:
    """A configuration around a site's file that needs no rights and touches nothing outside of `folder`."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/nginx-{kind};\n" for kind in kinds)
    head = f"daemon off;\npid {folder}/nginx.pid;\n" + ("user root;\n" if os.geteuid() == 0 else "")
    return f"{head}events {{}}\nhttp {{\naccess_log off;\n{paths}{site}\n}}\n"


def needed(program: str) -> str:
    """Where Debian's package put it. Raises Missing."""
    folders = [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), "/usr/sbin", "/usr/bin"]
    found = shutil.which(program, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        raise Missing(f"{program} is not installed")
    return found


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30):
            return True
    except OSError:
        return False
