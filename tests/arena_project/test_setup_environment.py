"""Settings come from the environment: documented, typed, and wrong ones are said in one line."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.BASE_DIR
FROM_SETTINGS = re.compile(r"""\benv\.\w+\(\s*["']([A-Z_]+)["']""")
FROM_EXAMPLE = re.compile(r"^#?([A-Z_]+)=", re.MULTILINE)


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_variable_of_the_settings_is_in_the_example_and_no_other() -> None:
    used = set(
        FROM_SETTINGS.findall("".join(path.read_text() for path in (ROOT / "arena_project/settings").glob("*.py")))
    )
    documented = set(FROM_EXAMPLE.findall((ROOT / ".env.example").read_text()))
    assert documented - {"OPENAI_API_KEY"} == used - {"PYTEST_XDIST_WORKER"}


def test_every_variable_of_the_example_has_a_comment_before_it() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    bare = [line for before, line in pairwise(lines) if FROM_EXAMPLE.match(line) and not before.startswith("# ")]
    assert not bare


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "eighty"),
        ("DEBUG", "perhaps"),
        ("PUBLIC_URL", "arena.example.org"),
        ("SNAPSHOT_DELAY_SECONDS", "soon"),
        ("TOURNEY_VAR", "/dev/null/var"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_variable(variable: str, value: str, tmp_path: Path) -> None:
    result = manage("run", **{"TOURNEY_VAR": str(tmp_path), variable: value})
    assert result.returncode == 1
    assert variable in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_broken_line_of_the_env_file_is_named(tmp_path: Path) -> None:
    from django.core.exceptions import ImproperlyConfigured

    from arena_project.environment import read_env_file

    path = tmp_path / ".env"
    path.write_text("# fine\nexport A_B=1\n\nPORT 8000\n")
    with pytest.raises(ImproperlyConfigured, match=r"\.env, line 4.*PORT 8000"):
        read_env_file(path)


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "environ.py").write_text("raise ModuleNotFoundError(\"No module named 'environ'\", name='environ')")
    result = manage("run", TOURNEY_VAR=str(tmp_path), PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr.strip() == "The package 'environ' is missing. Run `make run` once: it installs everything."
