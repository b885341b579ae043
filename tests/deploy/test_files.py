"""What deploy/ says, held against the code: names of settings, commands, ports, users, versions. Nothing is started."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from arena_project.management.commands.run import programs

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
JSON = dict[str, Any]
SETTINGS = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
START = (DEPLOY / "start.sh").read_text()
KNOWN = SETTINGS | set(re.findall(r"\$\{([A-Z_]+)", START))
# Read by PostgreSQL's image, the proxy and vLLM, or put together from these by the compose files.
OF_OTHERS = {"SITE", "POSTGRES_PASSWORD", "HF_TOKEN", "BACKUPS"}
COMMANDS = set(re.findall(r"^(\w+)\)$", START, re.MULTILINE)) | set(get_commands())
OURS = ("prepare", "web", "worker", "beat")


def loaded(name: str) -> JSON:
    found: JSON = yaml.safe_load((DEPLOY / name).read_text())
    return found


def kubernetes() -> list[JSON]:
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def assignments(name: str) -> dict[str, str]:
    lines = (DEPLOY / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


COMPOSE = loaded("compose.yml")["services"]
VLLM = loaded("compose.vllm.yml")["services"]
PODS = {
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in kubernetes()
    if each["kind"] in ("Deployment", "Job")
}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def test_every_setting_that_is_named_exists() -> None:
    for name in OURS:
        assert set(COMPOSE[name]["environment"]) <= KNOWN
    for each in kubernetes():
        if each["kind"] in ("ConfigMap", "Secret"):
            assert set(each.get("data") or each["stringData"]) <= KNOWN
    for pod in PODS.values():
        assert {variable["name"] for variable in pod["containers"][0].get("env", ())} <= KNOWN
    assert set(assignments("systemd/tourney.env.example")) <= KNOWN
    assert set(assignments("env.example")) <= KNOWN | OF_OTHERS
    image = set(re.findall(r"\b([A-Z_]+)=", (DEPLOY / "Dockerfile").read_text()))
    assert {name for name in image if not name.startswith(("PIP_", "PYTHON"))} <= KNOWN | {"PATH", "CMD"}


@pytest.mark.parametrize("name", ["compose.yml", "compose.vllm.yml"])
def test_what_a_compose_file_asks_for_is_in_its_example(name: str) -> None:
    asked = dict(re.findall(r"\$\{([A-Z_]+)(:[-?])?", (DEPLOY / name).read_text()))
    needed = {variable for variable, default in asked.items() if default != ":-"}
    assert needed <= assignments("env.example").keys()


def test_every_command_exists() -> None:
    asked = [COMPOSE[name]["command"][0] for name in OURS]
    asked += [pod["containers"][0]["args"][0] for pod in PODS.values()]
    asked += [re.findall(r"^ExecStart=/opt/tourney/deploy/start.sh (\w+)", unit.read_text(), re.M)[0] for unit in UNITS]
    asked += re.findall(r"start\.sh (\w+)", (DEPLOY / "cloud-init.yaml").read_text())
    assert set(asked) <= COMMANDS
    assert set(OURS) <= set(asked)


def test_images_have_a_version() -> None:
    images = [service["image"] for service in (COMPOSE | VLLM).values()]
    images += re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    for image in images:
        assert re.search(r":(\$\{\w+:-)?v?(\d+\.\d+|local)", image), image


def test_nobody_is_root_and_nothing_can_be_written_but_the_data() -> None:
    last = (DEPLOY / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+):", last, re.MULTILINE)
    assert int(user) > 0
    for name in OURS:
        service = COMPOSE[name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert [volume.split(":")[1] for volume in service["volumes"]] == ["/var/lib/tourney"]
    for pod in PODS.values():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == int(user)
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    for unit in UNITS:
        assert {"User=tourney", "NoNewPrivileges=true", "ProtectSystem=strict"} <= set(unit.read_text().splitlines())


def test_only_the_proxy_is_reachable_from_outside() -> None:
    assert [name for name, service in (COMPOSE | VLLM).items() if "ports" in service] == ["proxy"]


def test_ports_agree() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert "PORT=8000" in dockerfile
    assert "EXPOSE 8000" in dockerfile
    assert "{$WEB:web:8000}" in (DEPLOY / "proxy/Caddyfile").read_text()
    assert PODS["web"]["containers"][0]["ports"] == [{"name": "http", "containerPort": 8000}]
    units = set(re.findall(r"tourney-web@(\d+)", (DEPLOY / "systemd/tourney.target").read_text()))
    proxied = set(re.findall(r"server 127\.0\.0\.1:(\d+)", (DEPLOY / "proxy/nginx.conf").read_text()))
    assert units == proxied == {"8001", "8002"}


def test_there_is_one_beat_and_more_than_one_web_process() -> None:
    (beat,) = [each for each in kubernetes() if each["kind"] == "Deployment" and each["metadata"]["name"] == "beat"]
    assert beat["spec"]["replicas"] == 1
    assert beat["spec"]["strategy"] == {"type": "Recreate"}
    assert COMPOSE["web"]["deploy"]["replicas"] > 1
    scaled = {each["metadata"]["name"] for each in kubernetes() if each["kind"] == "HorizontalPodAutoscaler"}
    assert scaled == {"web", "worker"}


def test_a_worker_without_a_web_process_says_its_metrics_itself_and_counts_in_memory() -> None:
    variables = {one["name"]: one["value"] for one in PODS["worker"]["containers"][0]["env"]}
    for found in (COMPOSE["worker"]["environment"], variables):
        assert int(found["METRICS_WORKER_PORT"]) > 0
        assert found["METRICS_WORKER_HOST"] == "0.0.0.0"
    assert COMPOSE["worker"]["environment"].items() >= COMPOSE["web"]["environment"].items()
    assert "METRICS_DIR=/tmp/" in (DEPLOY / "Dockerfile").read_text()
    folder = assignments("systemd/tourney.env.example")["METRICS_DIR"]
    assert folder.startswith("/run/tourney/")
    for unit in UNITS:  # each reads the settings, which make the folder
        assert {"RuntimeDirectory=tourney", "RuntimeDirectoryPreserve=yes"} <= set(unit.read_text().splitlines())


def test_a_backup_can_be_made_everywhere() -> None:
    server = COMPOSE["postgresql"]["image"].removeprefix("postgres:").partition(".")[0]
    assert f"postgresql-client-{server} " in (DEPLOY / "Dockerfile").read_text()
    backup = COMPOSE["backup"]
    assert backup["command"][:2] == ["backup", "/backups"]
    assert backup["volumes"][1].endswith(":/backups")
    unit = (DEPLOY / "systemd/tourney-backup.service").read_text()
    assert "start.sh backup /var/backups/tourney" in unit
    assert "ReadWritePaths=/var/backups/tourney" in unit
    assert (DEPLOY / "systemd/tourney-backup.timer").is_file()


def test_an_image_with_traces_is_one_argument_away() -> None:
    build = (DEPLOY / "Dockerfile").read_text().partition("\nFROM ")[2].partition("\nFROM ")[0]
    before, asked, after = build.partition("ARG OTEL=false\n")
    assert asked
    assert re.search(r"^COPY .*\brequirements-otel\.txt\b", before, re.MULTILINE)
    assert re.search(r'"\$OTEL" = true \]; then pip install [^;]*-r requirements-otel\.txt; fi$', after, re.MULTILINE)
    assert COMPOSE["web"]["build"]["args"] == {"OTEL": "${OTEL:-false}"}
    assert "OTEL" in SETTINGS  # the same line of deploy/.env builds it in and switches it on
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert not [line for line in ignored if line.startswith("requirements")]


def test_what_is_installed_is_pinned_once() -> None:
    found = re.findall(r"^([\w.-]+)==(\S+)$", (DEPLOY / "constraints.txt").read_text(), re.MULTILINE)
    pinned = {name.replace("_", "-").lower(): version for name, version in found}
    for name in ("requirements.txt", "requirements-otel.txt"):
        text = (ROOT / name).read_text()
        assert "-c deploy/constraints.txt" in text
        asked = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)", text, re.MULTILINE))
        assert asked
        assert {package: pinned.get(package.replace("_", "-").lower()) for package in asked} == asked


def test_processes_are_started_by_one_script_alone() -> None:
    """`make run`, image, systemd, Compose, Kubernetes and tests: a flag that is changed there is changed for all."""
    places = [
        *ROOT.glob("deploy/**/*"),
        *ROOT.glob("arena_project/**/*.py"),
        *ROOT.glob("tests/*.py"),
        ROOT / "Makefile",
    ]
    command = re.compile(r"""-m["', ]+daphne|-m["', ]+celery""")
    found = {path.name for path in places if path.is_file() and command.search(path.read_text(errors="replace"))}
    assert found == {"start.sh"}
    for program in programs():
        if program.name in ("web", "worker"):
            assert program.command[:2] == [str(DEPLOY / "start.sh"), program.name]
    assert 'ENTRYPOINT ["deploy/start.sh"]' in (DEPLOY / "Dockerfile").read_text()
    assert "--websocket_connect_timeout 20" in START


def test_one_place_says_for_how_long_browsers_come_by_tls_alone() -> None:
    for proxy in ("Caddyfile", "nginx.conf"):
        assert "Strict-Transport-Security" not in (DEPLOY / "proxy" / proxy).read_text()


def test_the_models_of_one_gpu_are_those_of_its_catalogue() -> None:
    catalogue = yaml.safe_load((ROOT / "examples/one-gpu.yaml").read_text())["endpoints"]
    assert {endpoint["slug"] for endpoint in catalogue} == VLLM.keys()
    shares = 0.0
    for endpoint in catalogue:
        asked = dict(argument.removeprefix("--").split("=") for argument in VLLM[endpoint["slug"]]["command"])
        (model,) = endpoint["models"]
        assert asked["model"] == model["upstream_id"]
        assert int(asked["max-model-len"]) == model["context_window"]
        assert int(asked["max-num-seqs"]) == endpoint["max_streams"]
        assert endpoint["base_url"] == f"http://{endpoint['slug']}:8000/v1"
        shares += float(asked["gpu-memory-utilization"])
    assert shares <= 0.95


def test_every_model_that_is_fetched_by_default_has_one_commit() -> None:
    by_hand = dict(re.findall(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40})\b", (DEPLOY / "download_models.sh").read_text()))
    served = {}
    for service in VLLM.values():
        asked = dict(argument.removeprefix("--").split("=") for argument in service["command"])
        served[asked["model"]] = asked["revision"]
    assert by_hand == served
    written = re.findall(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40})\b", (ROOT / "docs/deploy.md").read_text())
    assert set(written) <= by_hand.items()


def test_the_page_to_follow_says_what_the_commands_take() -> None:
    """Every `tourney …` of docs/deploy.md, as the command itself reads it; its engines are those of Compose."""
    page = (ROOT / "docs/deploy.md").read_text().replace("\\\n", " ")
    (more,) = re.findall(r'add\(\) \{ tourney engines add "\$@" (.*); \}', page)
    lines = [line.partition("  #")[0] for line in re.findall(r"^ +tourney (.*)$", page, re.MULTILINE)]
    lines += [f"engines add {line} {more}" for line in re.findall(r"^ +add ([\w-]+ .*)$", page, re.MULTILINE)]
    engines = []
    for line in lines:
        name, *rest = line.split()
        said = load_command_class(get_commands()[name], name).create_parser("tourney", name).parse_args(rest)
        if getattr(said, "verb", "") == "add":
            engines.append(said)
    served = [dict(one.removeprefix("--").split("=") for one in service["command"]) for service in VLLM.values()]
    assert [(one.model, one.memory_share, one.context) for one in engines] == [
        (one["model"], float(one["gpu-memory-utilization"]), int(one["max-model-len"])) for one in served
    ]
    assert [one.extra_arguments for one in engines] == [[f"--max-num-seqs={one['max-num-seqs']}"] for one in served]
    assert len({one.port for one in engines}) == len(engines) == 3


def test_what_the_beat_asks_for_is_a_task() -> None:
    from arena_project.celery import app

    app.loader.import_default_modules()
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= app.tasks.keys()
