"""One row of a preference file in any of the shapes that trainers read. Pure.

DPO `{prompt, chosen, rejected}` and KTO `{prompt, completion, label}` of TRL, as text or as lists of messages, the
prompt perhaps only within both texts; and ShareGPT's `conversations` with `chosen` and `rejected`, with `label`, or
with neither, which gives its prompt alone. Source: https://huggingface.co/docs/trl/dataset_formats
"""

from itertools import takewhile
from typing import Any, NamedTuple

from battles.imports.errors import at

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "system": "system"}
LABELS = {"true": True, "false": False, "1": True, "0": False}
# What the columns hold, in characters.
LENGTHS = {"chosen_model": 100, "rejected_model": 100, "model": 100, "category": 32, "language": 16}

Spoken = list[tuple[str, str]]


class Told(NamedTuple):
    """What a row says: messages as pairs of role and content."""

    prompt: Spoken
    chosen: Spoken
    rejected: Spoken
    chosen_model: str
    rejected_model: str
    category: str
    language: str

    @property
    def first_prompt(self) -> str:
        return next(content for role, content in self.prompt if role == "user")


def told_of(row: dict[str, Any], line: int) -> Told:
    """Raises ImportInvalid with the line."""
    told = {name: _word(row, name, line) for name in LENGTHS}
    if "chosen" in row or "rejected" in row:
        prompt, chosen, rejected = _pair(row, line)
    elif "label" in row:
        prompt, chosen, rejected = _labelled(row, line)
        told |= {"chosen_model" if chosen else "rejected_model": told["model"]}
    elif talk := _talk(row, line):
        prompt, chosen, rejected = _up_to_the_first_prompt(talk), [], []
    else:
        raise at(line, "it needs chosen and rejected, or completion and label, or conversations.")
    if not prompt or prompt[-1][0] != "user":
        raise at(line, "there is no prompt, or it does not end with the user's message.")
    for name, spoken in (("chosen", chosen), ("rejected", rejected)):
        if spoken and (spoken[0][0], spoken[-1][0]) != ("assistant", "assistant"):
            raise at(line, f"{name} must be what the assistant says.")
    if chosen and chosen == rejected:
        raise at(line, "chosen and rejected are the same.")
    return Told(
        prompt, chosen, rejected, told["chosen_model"], told["rejected_model"], told["category"], told["language"]
    )


def _pair(row: dict[str, Any], line: int) -> tuple[Spoken, Spoken, Spoken]:
    chosen, rejected = (_spoken(row.get(name), name, "assistant", line) for name in ("chosen", "rejected"))
    prompt = _talk(row, line)
    if not prompt:  # TRL's implicit prompt: what both begin with
        both = takewhile(lambda two: two[0] == two[1], zip(chosen, rejected, strict=False))
        prompt = [one for one, _ in both]
        while prompt and prompt[-1][0] != "user":
            prompt.pop()
        chosen, rejected = chosen[len(prompt) :], rejected[len(prompt) :]
    if not chosen or not rejected:
        raise at(line, "chosen and rejected must both have a text.")
    return prompt, chosen, rejected


def _labelled(row: dict[str, Any], line: int) -> tuple[Spoken, Spoken, Spoken]:
    is_good = LABELS.get(str(row["label"]).lower())
    if is_good is None:
        raise at(line, "label must be true or false.")
    prompt = _talk(row, line)
    if "completion" in row:
        completion = _spoken(row["completion"], "completion", "assistant", line)
    else:
        prompt, completion = prompt[:-1], prompt[-1:]
    if not completion:
        raise at(line, "completion has no text.")
    return (prompt, completion, []) if is_good else (prompt, [], completion)


def _talk(row: dict[str, Any], line: int) -> Spoken:
    """What stands before the answers, or a whole conversation; empty where there is neither."""
    name = next((name for name in ("prompt", "conversations", "messages") if name in row), "")
    spoken = _spoken(row[name], name, "user", line) if name else []
    system = row.get("system")
    return [("system", _content(system, "system", line)), *spoken] if system else spoken


def _up_to_the_first_prompt(talk: Spoken) -> Spoken:
    first = next((number for number, (role, _) in enumerate(talk) if role == "user"), -1)
    return talk[: first + 1]


def _spoken(value: Any, name: str, role: str, line: int) -> Spoken:
    """Messages from a text, one message, or a list of them."""
    if isinstance(value, str):
        return [(role, _content(value, name, line))] if value.strip() else []
    spoken: Spoken = []
    for message in [value] if isinstance(value, dict) else value if isinstance(value, list) else [None]:
        if not isinstance(message, dict):
            raise at(line, f"{name} must be text, or a list of messages.")
        who = ROLES.get(str(message.get("role", message.get("from"))))
        if who is None:
            raise at(line, f"{name} has a message of a role that is not known. Known are: {', '.join(ROLES)}.")
        spoken.append((who, _content(message.get("content", message.get("value")), name, line)))
    return spoken


def _content(value: Any, name: str, line: int) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise at(line, f"{name} has a message without a text, or one with a NUL in it.")
    return value


def _word(row: dict[str, Any], name: str, line: int) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str) or len(value) > LENGTHS[name] or "\0" in value:
        raise at(line, f"{name} must be text of at most {LENGTHS[name]} characters.")
    return value
