"""What all kinds of rows share: where a text comes from, and how it is told in a shape."""

import hmac
from collections import Counter
from datetime import datetime
from typing import Any

from django.conf import settings

from battles.exports.judged import Spoken, messages
from battles.exports.reading import Talk
from battles.exports.selection import Selection

Row = dict[str, Any]
Counts = Counter[str]
# What a column holds: text, messages (a list of role and content), bool, or number.
Columns = dict[str, str]


def provenance_columns(selection: Selection) -> Columns:
    names = ["category", "language", "source", "mode", "reasons", "battle", "voter", "created_at"]
    return dict.fromkeys(names + ["comment"] * selection.comments, "text")


def provenance(
    talk: Talk, *, voter_id: int, created_at: datetime, selection: Selection, reasons: list[str], comment: str = ""
) -> Row:
    """Where a row comes from. What a person wrote about the answers is there only where it was asked for: free text
    may say who they are."""
    row = {
        "category": talk.category,
        "language": talk.language,
        "source": "human",
        "mode": talk.mode,
        "reasons": ", ".join(map(str, reasons)),
        "battle": pseudonym("battle", talk.battle_id),
        "voter": pseudonym("voter", voter_id),
        "created_at": created_at.isoformat(),
    }
    return row | {"comment": comment} if selection.comments else row


def pseudonym(kind: str, key: object) -> str:
    """The same for the same person or battle in every export of this server, and nothing that leads back to them."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"export:{kind}:{key}".encode(), "sha256").hex()[:16]


def shaped(prompt: Spoken, completion: Spoken, shape: str, skipped: Counts) -> tuple[Any, Any] | None:
    """Prompt and completion as the shape wants them; None where text cannot say it."""
    if shape == "conversational":
        return messages(prompt), messages(completion)
    if len(completion) > 1 or sum(role == "user" for role, _ in prompt) > 1:
        skipped["several turns need shape=conversational"] += 1
        return None
    return "\n\n".join(content for _, content in prompt), completion[0][1]


def text_type(selection: Selection) -> str:
    """What a column of texts holds in this shape."""
    return "messages" if selection.shape == "conversational" else "text"
