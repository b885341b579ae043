"""What a start does before the processes come up, and that a second start does it no more."""

import os
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from arena_project import setup
from tests import factories


@pytest.mark.django_db
def test_the_first_start_makes_an_administrator_without_a_password() -> None:
    administrator = setup.administrator_ensure()
    assert administrator.username == "admin"
    assert administrator.is_superuser
    assert not administrator.has_usable_password()
    assert setup.administrator_ensure() == administrator


@pytest.mark.django_db
def test_an_administrator_who_was_made_otherwise_is_enough() -> None:
    own = User.objects.create_superuser("ada", password="a long enough password")
    assert setup.administrator_ensure() == own


@pytest.mark.django_db
def test_the_login_link_is_shown_until_anybody_has_logged_in() -> None:
    first, second = setup.first_login_link(), setup.first_login_link()
    assert first.startswith("http://localhost")
    assert second
    User.objects.filter(pk=factories.user().pk).update(last_login=timezone.now())
    assert setup.first_login_link() == ""


@pytest.mark.django_db
def test_a_database_that_is_up_to_date_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "call_command", lambda *_, **__: pytest.fail("nothing is to be migrated"))
    said: list[str] = []
    assert not setup.database_migrate(said.append)
    assert not said


def test_static_files_are_collected_only_when_one_of_them_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "page.js").write_text("export {};")
    settings.VAR = tmp_path
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATICFILES_DIRS = [source]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    finders.get_finder.cache_clear()
    said: list[str] = []
    try:
        setup.static_collect(said.append)
        setup.static_collect(said.append)
        assert len(said) == 1
        assert (tmp_path / "static/page.js").is_file()
        os.utime(source / "page.js", ns=(1, 1))
        setup.static_collect(said.append)
        assert len(said) == 2
    finally:
        finders.get_finder.cache_clear()
