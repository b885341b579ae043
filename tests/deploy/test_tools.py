"""deploy/ in the eyes of the tools that read it, where they are installed; each runs in well under a second or two."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cluster import Missing, needed, nginx_text, nginx_whole

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"


def checked(*command: str, **environment: str) -> None:
    try:
        program = needed(command[0])
    except Missing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [program, *command[1:]], capture_output=True, text=True, cwd=ROOT, env=os.environ | environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["sh", "shellcheck"])
def test_the_scripts_are_sound(shell: str, tmp_path: Path) -> None:
    install = tmp_path / "tourney-install"
    text = yaml.safe_load((DEPLOY / "cloud-init.yaml").read_text())["write_files"][0]["content"]
    install.write_text(text.replace("${site}", "arena.example.org").replace("${repository}", "https://example.org"))
    for script in (*DEPLOY.glob("*.sh"), DEPLOY / "systemd/tourney-manage", install):
        checked(shell, *(["-n"] if shell == "sh" else []), str(script))


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    key, certificate, whole = (tmp_path / name for name in ("key.pem", "certificate.pem", "nginx.conf"))
    checked(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
        "/CN=arena.example.org", "-keyout", str(key), "-out", str(certificate),
    )  # fmt: skip
    folder = "/etc/letsencrypt/live/arena.example.org"
    text = nginx_text().replace(f"{folder}/fullchain.pem", str(certificate)).replace(f"{folder}/privkey.pem", str(key))
    whole.write_text(nginx_whole(text, tmp_path))
    checked("nginx", "-t", "-p", str(tmp_path), "-c", str(whole), "-e", "stderr")


def test_caddy_takes_its_file(tmp_path: Path) -> None:
    checked(
        "caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "proxy/Caddyfile"),
        SITE="arena.example.org", XDG_DATA_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path),
    )  # fmt: skip


def test_systemd_takes_its_units(tmp_path: Path) -> None:
    for unit in (DEPLOY / "systemd").glob("tourney*.*"):
        if unit.suffix in (".service", ".target", ".timer"):
            (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/tourney/deploy/start.sh", "/bin/true"))
    shutil.copy(tmp_path / "tourney-web@.service", tmp_path / "tourney-web@8001.service")
    names = [str(path) for path in tmp_path.iterdir() if "@." not in path.name]
    checked("systemd-analyze", "verify", "--man=no", *names)


def test_kubectl_builds_the_manifests() -> None:
    checked("kubectl", "kustomize", str(DEPLOY / "kubernetes"))


def test_terraform_is_in_shape() -> None:
    checked("terraform", "fmt", "-check", str(DEPLOY / "terraform"))


def test_hadolint_has_nothing_to_say() -> None:
    checked("hadolint", str(DEPLOY / "Dockerfile"))
