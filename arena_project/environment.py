"""Typed settings from the environment that name the variable when a value is wrong."""

import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

# What docker, systemd and shells all read the same way; anything else in .env is a slip of the pen.
ENV_LINE = re.compile(r"\s*(?:#.*|(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=.*)?")
FALSE = ("0", "false", "no", "off", "n", "")


class Env(environ.Env):  # type: ignore[misc] # django-environ has no types
    """django-environ, but a wrong value raises ImproperlyConfigured with the variable's name in it."""

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        try:
            value = super().get_value(var, cast=cast, default=default, parse_default=parse_default)
        except (ValueError, TypeError) as error:
            raise ImproperlyConfigured(f"{var}={self.ENVIRON.get(var)!r} cannot be read: {error}.") from error
        if cast is bool and value is False and str(self.ENVIRON.get(var, "")).strip().lower() not in FALSE:
            raise ImproperlyConfigured(f"{var}={self.ENVIRON[var]!r} cannot be read: write true or false.")
        return value

    def decimal(self, var: str, default: Decimal | None) -> Decimal | None:
        """An amount; empty is like unset."""
        text = self.str(var, default="").strip()
        if not text:
            return default
        try:
            return Decimal(text)
        except InvalidOperation as error:
            raise ImproperlyConfigured(f"{var}={text!r} cannot be read: write an amount, for example 5.00.") from error


def read_env_file(path: Path) -> None:
    """Put the variables of `path` into the environment; what the environment already has wins.

    Raises ImproperlyConfigured naming the first line that is not NAME=value.
    """
    if not path.is_file():
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{path} cannot be read: {error}.") from error
    for number, line in enumerate(lines, start=1):
        if not ENV_LINE.fullmatch(line):
            raise ImproperlyConfigured(f"{path.name}, line {number}: expected NAME=value, found {line.strip()!r}.")
    environ.Env.read_env(path)


def redis_of_test_worker(url: str, worker: str) -> str:
    """`redis://host/9` for worker gw0, `redis://host/10` for gw1: tests that run side by side empty the cache."""
    base, _, number = url.rpartition("/")
    return f"{base}/{int(number) + int(worker.removeprefix('gw'))}"
