"""`manage.py prepare`: what a deployment does once before its processes."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings

from accounts.models import User
from arena_project import setup
from battles.models import PromptSet


def prepared() -> str:
    said = io.StringIO()
    call_command("prepare", stdout=said)
    return said.getvalue()


@pytest.mark.django_db
def test_it_brings_seeds_and_the_first_login_link_and_may_be_run_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATIC_ROOT = Path("/app/static-collected")  # of an image: not ours to write
    monkeypatch.setattr(setup, "static_collect", lambda say: pytest.fail("an image brings its own static files"))
    first, second = prepared(), prepared()
    assert "http://localhost" in first
    assert "http://localhost" in second
    assert PromptSet.objects.filter(slug="starters").count() == 1
    assert User.objects.filter(is_superuser=True).count() == 1


@pytest.mark.django_db
def test_it_collects_static_files_where_they_lie_with_the_data(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[bool] = []
    settings.STATIC_ROOT = settings.VAR / "static"
    monkeypatch.setattr(setup, "static_collect", lambda say: collected.append(True))
    prepared()
    assert collected
