#!/usr/bin/env python3
"""Django's command line, with one clear line where a setting is wrong or a package is missing."""

import os
import sys

APPS = ("accounts", "arena_project", "battles", "common", "leaderboard", "providers")


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(",:.") + "."


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
    try:
        import django
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError as error:
        sys.exit(f"The package {error.name!r} is missing. Run `make run` once: it installs everything.")
    try:
        django.setup()  # here, because Django's own command line hides a wrong setting behind "Unknown command"
    except ImproperlyConfigured as error:
        sys.exit(f"Settings: {first_line(error)} Every variable is described in .env.example.")
    except OSError as error:
        sys.exit(f"Settings: {error}. TOURNEY_VAR names the folder where Tourney keeps its data.")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in APPS:
            raise  # a slip in our own code
        sys.exit(f"The package {error.name!r} is missing. Run `make run` once: it installs everything.")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
