"""One vLLM process: started in a group of its own, its lines kept in a file and at hand, stopped cleanly. No Django."""

import asyncio
import re
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from common.processes import Guard, signal_group

GRACE_SECONDS = 20.0  # vLLM frees the GPU within a few seconds; after this it is killed
TAIL_LINES = 200
LINE_CHARACTERS = 1000
LOG_BYTES = 20_000_000  # then the file begins anew, and the one before is kept
CREDENTIAL = re.compile(r"\bhf_[A-Za-z0-9]{10,}|(?i:(token|api[_-]?key|password)['\"]?\s*[=:]\s*['\"]?)[^\s'\",)]+")


class EngineProcess:
    """`start` raises OSError where the program cannot be run at all; `ended` is its exit status when it is gone."""

    def __init__(self, log: Path, guard: Guard) -> None:
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.cannot_log = ""
        self._log = log
        self._guard = guard
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_cleared = True  # nothing is left of its group

    async def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.tail.clear()
        self._process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._is_cleared = False
        self._guard.tell("+", self._process.pid)
        self._reading = asyncio.create_task(self._read(self._process))

    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def ended(self) -> int:
        """Wait for its end and for its last lines; nothing of its group is left."""
        assert self._process is not None, "it was never started"
        assert self._reading is not None
        how = await self._process.wait()
        if self._is_cleared:  # its number may be another's by now
            return how
        await asyncio.wait([self._reading], timeout=1.0)  # a child of its own may hold the pipe open
        self._reading.cancel()
        signal_group(self._process.pid, signal.SIGKILL)
        self._guard.tell("-", self._process.pid)
        self._is_cleared = True
        return how

    async def stop(self) -> None:
        """Ask it to end, and after a while make it. One that has ended by itself may have left others of its group."""
        if self._process is None:
            return
        if self.is_running():
            with suppress(ProcessLookupError):  # the leader alone: it ends its workers in order
                self._process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._process.wait()
            except TimeoutError:
                signal_group(self._process.pid, signal.SIGKILL)
        await self.ended()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while chunk := await process.stdout.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > 10 * LINE_CHARACTERS:
                lines, rest = [*lines, rest], b""
            self._keep([without_credentials(line.decode(errors="replace")).rstrip() for line in lines])
        if rest:
            self._keep([without_credentials(rest.decode(errors="replace"))])

    def _keep(self, lines: Sequence[str]) -> None:
        self.tail.extend(line[:LINE_CHARACTERS] for line in lines)
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
                self._log.replace(self._log.with_suffix(".log.1"))
            with self._log.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            self.cannot_log = ""
        except OSError as error:  # a full disk must not stop an engine that answers
            self.cannot_log = f"Its log cannot be written: {error.strerror}."


def without_credentials(line: str) -> str:
    """Tokens and keys do not belong into a page that several people read."""
    return CREDENTIAL.sub(lambda found: f"{found[1] or ''}[hidden]", line.replace("\0", "\ufffd"))
