"""What is wrong with the machine is said in one line before anything is started."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from arena_project import checks
from arena_project.checks import EnvironmentProblem
from tests.arena_project.test_setup_environment import manage


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_taken_port_is_one_line_that_names_the_variable(taken_port: int, tmp_path: Path) -> None:
    result = manage("run", PORT=str(taken_port), TOURNEY_VAR=str(tmp_path), EMBEDDED_ENGINE="false")
    assert result.returncode == 1
    assert result.stderr.strip() == (
        f"Port {taken_port} is taken. Stop what uses it, or choose another: PORT={taken_port + 100} make run"
    )


def test_a_taken_port_of_the_embedded_model_names_its_own_variable(taken_port: int, settings: Settings) -> None:
    settings.PORT, settings.EMBEDDED_ENGINE, settings.EMBEDDED_PORT = 0, True, taken_port
    with pytest.raises(EnvironmentProblem, match="EMBEDDED_PORT"):
        checks.check_ports()


def test_two_servers_on_one_data_folder_are_refused(tmp_path: Path) -> None:
    with checks.lock_var(tmp_path):
        result = manage("run", TOURNEY_VAR=str(tmp_path))
    assert result.returncode == 1
    assert f"Tourney runs on {tmp_path} already" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    checks.lock_var(tmp_path).close()
    checks.lock_var(tmp_path).close()


def test_a_database_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    result = manage(
        "run",
        TOURNEY_VAR=str(tmp_path),
        DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing",
        EMBEDDED_ENGINE="false",
        PORT="0",
    )
    assert result.returncode == 1
    assert "does not answer" in result.stderr
    assert "DATABASE_URL" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "localhost"])
def test_a_redis_that_does_not_answer_is_one_line(url: str, settings: Settings) -> None:
    settings.REDIS_URL = url
    with pytest.raises(EnvironmentProblem, match="REDIS_URL"):
        checks.check_redis()
