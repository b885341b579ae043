#!/usr/bin/env python3
"""Django's command line, with one clear line where a package is missing."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
    try:
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError as error:
        sys.exit(f"The package {error.name!r} is missing. Run `make run` once: it installs everything.")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
