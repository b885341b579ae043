"""Tiny programs for the supervisor's tests, and a supervisor that can be killed: `python -m … PID_FILE`."""

import asyncio
import sys
from pathlib import Path

from arena_project.supervisor import Program, Supervisor


def python(name: str, code: str, *, is_essential: bool = True) -> Program:
    return Program(name, [sys.executable, "-S", "-c", code], is_essential=is_essential)


def parent_of_a_sleeper(pid_file: Path) -> Program:
    """A program with a child of its own, both of which ignore a polite request; writes both process ids."""
    sleeper = "import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    code = (
        "import os,signal,subprocess,sys,time; signal.signal(15, signal.SIG_IGN);"
        f"child = subprocess.Popen([sys.executable, '-S', '-c', {sleeper!r}]);"
        f"open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}');"
        "print('up'); time.sleep(60)"
    )
    return python("parent", code)


if __name__ == "__main__":
    sys.exit(asyncio.run(Supervisor([parent_of_a_sleeper(Path(sys.argv[1]))], grace=0.3).run()))
