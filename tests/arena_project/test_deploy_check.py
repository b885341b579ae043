"""`manage.py check --deploy`: clean with the settings that the documents name, and words where they are not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings as project

from arena_project.deploy_checks import settings_fit

PRODUCTION = {"PUBLIC_URL": "https://arena.example.org", "ALLOWED_HOSTS": "arena.example.org", "BEHIND_PROXY": "true"}


def test_the_documented_settings_are_clean(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, project.BASE_DIR / "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env=os.environ | PRODUCTION | {"TOURNEY_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_what_does_not_fit_is_named(settings: Any) -> None:
    settings.PUBLIC_URL, settings.SECURE, settings.BEHIND_PROXY = "https://arena.example.org", True, False
    settings.ALLOWED_HOSTS, settings.LOG_PROMPTS = ["localhost"], True
    assert [message.id for message in settings_fit(None)] == ["tourney.E001", "tourney.W002", "tourney.W003"]
    settings.ALLOWED_HOSTS, settings.LOG_PROMPTS, settings.SECURE = [".example.org"], False, False
    assert [message.id for message in settings_fit(None)] == ["tourney.W001"]
