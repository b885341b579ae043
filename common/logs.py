"""What a line of the log says beside its words: which request, person, battle, conversation and task it belongs to.

Never a prompt, an answer or a key: code logs ids, and what reaches a line in another way (an error of the database
repeats the row that it refused) is taken out here. LOG_PROMPTS=true lets texts through; keys never.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

Value = str | Callable[[], str]
_ids: ContextVar[dict[str, Value]] = ContextVar("ids", default={})  # noqa: B039 - never changed, only replaced

# Keys as we and the large providers write them, and whatever stands behind Bearer or in an address before its @.
_SECRETS = re.compile(
    r"\btny_[0-9a-f]+_[\w-]+|\b(?:sk|pk|nvapi|gsk|hf|AIza)[-_][\w-]{12,}|\bAIza[\w-]{20,}|(?i:\bbearer )[^\s'\"]+"
    r"|(?<=://)[^\s/@'\"]+:[^\s/@'\"]+(?=@)"
)
# PostgreSQL's second line of an IntegrityError: the row, or the key, that it refused.
_ROWS = re.compile(r"^(DETAIL|CONTEXT|PARAMETERS): .*", re.MULTILINE)


@contextmanager
def bound(**ids: Value) -> Iterator[None]:
    """Lines that are logged within carry these ids, too. A function is asked when a line is written."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def bind(**ids: Value) -> None:
    """The same for the rest of the current context: a task, a connection."""
    _ids.set({**_ids.get(), **ids})


def ids_now() -> dict[str, str]:
    """The ids of this moment that have a value."""
    said = {name: value() if callable(value) else value for name, value in _ids.get().items()}
    return {name: value for name, value in said.items() if value}


def clean(text: str) -> str:
    """The text without keys and, unless LOG_PROMPTS says otherwise, without rows that a database repeats."""
    text = _SECRETS.sub("[secret]", text)
    return text if settings.LOG_PROMPTS else _ROWS.sub(r"\1: [left out]", text)


class JSONFormatter(logging.Formatter):
    """One object a line: time (ISO 8601, UTC), level, logger, message, the ids, and what `extra={"fields": …}` says."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": clean(record.getMessage()),
            **ids_now(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = clean(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainFormatter(logging.Formatter):
    """For people: level, logger and words, then the ids."""

    def format(self, record: logging.LogRecord) -> str:
        said = {**ids_now(), **getattr(record, "fields", {})}
        ids = " ".join(f"{name}={value}" for name, value in said.items())
        line = f"{record.levelname} {record.name}: {record.getMessage()}" + (f" [{ids}]" if ids else "")
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return clean(line)
