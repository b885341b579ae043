"""Runs commands in processes of their own without starting Python and Django for each: `python -m tests.commands` sets
Django up once and forks for each command that it reads. Whoever wants to kill a command starts a real one."""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent


class Commands:
    """The commands of one environment. What they write and how they end is as it is of `python ARGUMENTS`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._host: subprocess.Popen[str] | None = None

    def run(self, *arguments: str) -> str:
        """What `python ARGUMENTS` writes, for `manage.py …` and `-m a.module …`. RuntimeError where it fails."""
        if self._host is None:
            self._host = subprocess.Popen(
                [sys.executable, "-m", "tests.commands"],
                cwd=ROOT, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self._host.stdin is not None
        assert self._host.stdout is not None
        self._host.stdin.write(f"{json.dumps(arguments)}\n")
        self._host.stdin.flush()
        answer = self._host.stdout.readline()
        if not answer:
            raise RuntimeError("Django could not be set up for commands")
        code, out, err = json.loads(answer)
        if code:
            raise RuntimeError(f"{' '.join(arguments)} failed:\n{out}\n{err}")
        return str(out)

    def stop(self) -> None:
        if self._host is not None:
            self._host.communicate()  # its input ends, and so does it
            self._host = None


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
    django.setup()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _become(json.loads(line), out, err)
            _, status = os.waitpid(child, 0)
            texts = [_text_of(file) for file in (out, err)]
        print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)


def _become(arguments: list[str], out: IO[bytes], err: IO[bytes]) -> None:
    """Be the command, and end as it does."""
    from django.db import connections

    with open(os.devnull) as nothing:
        for file, number in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(file.fileno(), number)
    code: Any = 0
    try:
        _run(arguments)
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    connections.close_all()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _run(arguments: list[str]) -> None:
    from django.core.management import execute_from_command_line

    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        execute_from_command_line(arguments)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    main()
