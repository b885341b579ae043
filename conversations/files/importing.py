"""Files of conversations read back: our own JSON, and dialogues of `{speaker, content}`. All or nothing of a file."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from accounts.models import User
from common.refusals import is_refusal
from conversations.analysis_texts import result_read
from conversations.errors import FileInvalid
from conversations.files.fields import At, dollars, mapping, number_of, text_of, time_of, whole
from conversations.files.shape import AGENTS, KEPT, MODERATOR
from conversations.models import Agent, Analysis, Conversation, Scenario, Side, Turn
from providers.adapters.base import ErrorKind, FinishReason
from providers.models import LanguageModel

FILE_MAX_BYTES = 10 * 2**20
CONVERSATIONS_MAX = 200
MESSAGES_MAX = 2_000
SHORT_MAX_CHARACTERS = 200
TEMPERATURE_MAX = 100
SPEAKER_KEYS = ("agent", "speaker", "role", "name")
DIALOGUE_KEYS = ("messages", "turns", "dialogue", "conversation")
NAMES = {**{name: side for side, name in AGENTS.items()}, "a": Side.A, "b": Side.B}
WRITTEN = frozenset({"finished", "failed", "stopped", "interrupted"})


def conversations_import(*, owner: User, data: bytes) -> list[Conversation]:
    """Store every conversation of a file: one JSON object, a list of messages or of objects, or an object a line.

    Raises FileInvalid, which says where.
    """
    found = _objects(data)
    if not 1 <= len(found) <= CONVERSATIONS_MAX:
        raise FileInvalid(f"The file holds {len(found)} conversations; 1 to {CONVERSATIONS_MAX} are taken at once.")
    slugs = dict(LanguageModel.objects.values_list("slug", "pk"))
    with transaction.atomic():
        return [_store(owner, value, at, slugs) for at, value in found]


def _objects(data: bytes) -> list[tuple[At, Any]]:
    if len(data) > FILE_MAX_BYTES:
        raise FileInvalid(f"The file is larger than {FILE_MAX_BYTES // 2**20} MB. Split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileInvalid(f"The file is not UTF-8 text: byte {error.start + 1} is not. Save it as UTF-8.") from error
    try:
        value = _json(text)
    except (ValueError, RecursionError) as error:
        return _lines(text, error)
    if isinstance(value, list) and value and all(isinstance(one, dict) and _messages_key(one) for one in value):
        return [(At(f"conversation {number}"), one) for number, one in enumerate(value, 1)]
    return [(At("the file"), {"messages": value} if isinstance(value, list) else value)]


def _json(text: str) -> Any:
    """Python takes and makes numbers that no JSON has, and that no database keeps. Raises ValueError."""

    def number(written: str) -> float:
        value = float(written)
        if not isfinite(value):
            raise ValueError(f"{written[:40]} is no number that can be kept")
        return value

    return json.loads(text, parse_constant=number, parse_float=number)


def _lines(text: str, error: Exception) -> list[tuple[At, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
        raise FileInvalid(f"This is no JSON: {error}") from error
    found = []
    for number, line in lines:
        try:
            found.append((At(f"line {number}"), _json(line)))
        except (ValueError, RecursionError) as wrong:
            raise FileInvalid(f"line {number}: this is no JSON: {wrong}") from wrong
    return found


def _messages_key(value: Mapping[str, Any]) -> str:
    return next((key for key in DIALOGUE_KEYS if isinstance(value.get(key), list)), "")


def _store(owner: User, value: Any, at: At, slugs: Mapping[str, int]) -> Conversation:
    if not isinstance(value, dict) or not (key := _messages_key(value)):
        raise at.wrong("a conversation is an object with a list “messages”.")
    messages = value[key]
    if not 1 <= len(messages) <= MESSAGES_MAX:
        raise at.wrong(f"it has {len(messages)} messages; 1 to {MESSAGES_MAX} are taken.")
    rows, names = _turns(messages, at.inner(key))
    metadata = mapping(value.get("metadata"), at.inner("metadata"))
    agents = mapping(value.get("agents"), at.inner("agents"))
    numbered = [row for row in rows if row["number"] is not None]
    if not numbered:
        raise at.wrong("no agent says anything in it.")
    inside = at.inner("metadata")
    first = metadata.get("first") or numbered[0]["speaker"]
    conversation = Conversation.objects.create(
        owner=owner,
        scenario=_scenario(owner, metadata.get("scenario")),
        seed_prompt=text_of(metadata.get("seed_prompt"), inside.inner("seed_prompt")),
        category=text_of(metadata.get("category") or value.get("category") or "imported", inside.inner("category"), 60),
        first_side=first if first in Side.values else numbered[0]["speaker"],
        max_turns=max(whole(metadata.get("max_turns"), inside.inner("max_turns")) or 0, len(numbered)),
        seed=whole(metadata.get("seed"), inside.inner("seed"), below=2**63),
        state=Conversation.State.ENDED,
        reason=Conversation.Reason.IMPORTED,
    )
    for side in Side:
        given = mapping(agents.get(AGENTS[side]), at.inner("agents").inner(AGENTS[side]))
        _agent(conversation, side, given, names[side], at.inner("agents").inner(AGENTS[side]), slugs)
    models = {agent.side: agent.model_id for agent in conversation.agents.all()}
    Turn.objects.bulk_create(
        Turn(conversation=conversation, model_id=models.get(row["speaker"]), **row) for row in rows
    )
    _analyses(conversation, value, at, slugs, len(numbered))
    return conversation


def _turns(messages: list[Any], at: At) -> tuple[list[dict[str, Any]], dict[Side, str]]:
    """The columns of each turn, and by which name each agent went."""
    names: dict[Side, str] = {}
    rows: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        here = at.inner(index)
        if not isinstance(message, dict):
            raise here.wrong("a message is an object with “agent” and “content”.")
        key = next((key for key in SPEAKER_KEYS if isinstance(message.get(key), str)), "")
        if not key:
            raise here.wrong(f"who speaks is missing: one of {', '.join(SPEAKER_KEYS)}.")
        if "content" not in message:
            raise here.wrong("“content” is missing.")
        if message["content"] is None:
            raise here.inner("content").wrong("this must be text.")
        content = text_of(message["content"], here.inner("content"))
        speaker = _speaker(message[key], names, here.inner(key))
        number = None if speaker == Turn.Speaker.MODERATOR else sum(row["number"] is not None for row in rows) + 1
        row = {"position": index + 1, "number": number, "speaker": speaker, "text": content, "status": "finished"}
        rows.append(row | (_kept(message, content, here) if number else {}))
    return rows, {side: names.get(side, "") for side in Side}


def _speaker(name: str, names: dict[Side, str], at: At) -> str:
    """The side by our own words for it, else by who spoke first and who second."""
    if name == MODERATOR:
        return Turn.Speaker.MODERATOR.value
    if name in ("system", "tool", "developer"):
        raise at.wrong(f"“{name}” is nobody who speaks: there are two agents and a moderator.")
    text_of(name, at, SHORT_MAX_CHARACTERS)
    if side := NAMES.get(name.lower()):
        names.setdefault(side, "")
        return side.value
    known = next((side for side, taken in names.items() if taken == name), None)
    free = known or next((side for side in Side if side not in names), None)
    if free is None:
        raise at.wrong(f"“{name}” is a third speaker: a conversation has two, and a moderator.")
    names[free] = name
    return free.value


def _kept(message: Mapping[str, Any], content: str, at: At) -> dict[str, Any]:
    """What our own files say of a turn; dialogues of others say nothing, and are looked at for refusals."""
    status = message.get("status", "finished")
    if status not in WRITTEN:
        raise at.wrong(f"status “{status}” is not one of {', '.join(sorted(WRITTEN))}.")
    kept: dict[str, Any] = {"status": status, "reasoning": text_of(message.get("reasoning"), at.inner("reasoning"))}
    for name in KEPT[1:]:
        value, here = message.get(name), at.inner(name)
        match name:
            case "finish_reason" | "error_kind":
                known = [one.value for one in (FinishReason if name == "finish_reason" else ErrorKind)]
                if value and value not in known:
                    raise here.wrong(f"“{value}” is not known; it is one of {', '.join(known)}.")
                kept[name] = value or ""
            case "sampling":
                text_of(json.dumps(value, ensure_ascii=False), here)
                kept[name] = mapping(value, here)
            case "is_refusal":
                kept[name] = bool(value) if value is not None else is_refusal(content)
            case "upstream_model" | "messages_hash" | "code_version":
                limit = Turn._meta.get_field(name).max_length  # type: ignore[union-attr]
                kept[name] = text_of(value, here, limit or SHORT_MAX_CHARACTERS)
            case _:
                kept[name] = whole(value, here)
    cost = message.get("cost")
    kept["cost"] = None if cost is None else dollars(cost, at.inner("cost"))
    return kept | {name: time_of(message.get(name), at.inner(name)) for name in ("started_at", "finished_at")}


def _agent(
    conversation: Conversation, side: Side, given: Mapping[str, Any], name: str, at: At, slugs: Mapping[str, int]
) -> None:
    slug = text_of(given.get("model") or name or "unknown", at.inner("model"), SHORT_MAX_CHARACTERS)
    Agent.objects.create(
        conversation=conversation,
        side=side,
        model_id=slugs.get(slug),
        model_slug=slug,
        name=text_of(given.get("name") or (name if name != slug else ""), at.inner("name"), 60),
        persona=text_of(given.get("persona"), at.inner("persona")),
        system_prompt=text_of(given.get("system"), at.inner("system")),
        temperature=number_of(given.get("temperature"), at.inner("temperature"), most=TEMPERATURE_MAX),
        top_p=number_of(given.get("top_p"), at.inner("top_p"), most=1),
        max_tokens=whole(given.get("max_tokens"), at.inner("max_tokens")),
    )


def _analyses(
    conversation: Conversation, value: Mapping[str, Any], at: At, slugs: Mapping[str, int], turns: int
) -> None:
    given = value.get("analyses") or ([value["analysis"]] if value.get("analysis") else [])
    if not isinstance(given, list):
        raise at.inner("analyses").wrong("analyses are a list.")
    for index, one in enumerate(given):
        here = at.inner("analyses").inner(index)
        read = mapping(one, here)
        text = text_of(read.get("text") or json.dumps(read.get("result") or read), here.inner("text"))
        slug = text_of(read.get("model") or "unknown", here.inner("model"), SHORT_MAX_CHARACTERS)
        Analysis.objects.create(
            conversation=conversation,
            model_id=slugs.get(slug),
            model_slug=slug,
            prompt_version=text_of(read.get("prompt_version"), here.inner("prompt_version"), 20),
            rubric=text_of(read.get("rubric"), here.inner("rubric")),
            turns=whole(read.get("turns_read"), here.inner("turns_read")) or turns,
            status=str(read.get("status")) if read.get("status") in WRITTEN else "finished",
            text=text,
            result=result_read(text),
            finished_at=timezone.now(),
        )


def _scenario(owner: User, given: Any) -> Scenario | None:
    """The version that was played, where it is known here."""
    if not isinstance(given, dict) or not isinstance(given.get("version"), int):
        return None
    visible = models.Q(owner=None) | models.Q(owner=owner)
    return Scenario.objects.filter(visible, slug=str(given.get("slug")), version=given["version"]).first()
