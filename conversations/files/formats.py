"""The formats in which a conversation can be saved. A new one is a line here."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from conversations.files import log, transcript
from conversations.files.shape import conversation_out
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Format:
    media_type: str
    write: Callable[[Conversation], str]


def whole_json(conversation: Conversation) -> str:
    return json.dumps(conversation_out(conversation), ensure_ascii=False, indent=2) + "\n"


FORMATS = {
    "json": Format("application/json; charset=utf-8", whole_json),
    "md": Format("text/markdown; charset=utf-8", transcript.markdown),
    "jsonl": Format("application/jsonl; charset=utf-8", log.jsonl),
    "csv": Format("text/csv; charset=utf-8", log.csv),
}
