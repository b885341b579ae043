"""A program that uses the conversations of a test server."""

import time
from typing import Any

from tests.live import JSON, Person

DONE_WITHIN_SECONDS = 60


def start(person: Person, script_a: str, script_b: str, *, expect: int = 201, **fields: Any) -> JSON:
    """Make a conversation of the models that play these scripts."""
    body = {
        "agent_a": {"model": f"axolotl-{script_a}", "temperature": 0.7, **fields.pop("agent_a", {})},
        "agent_b": {"model": f"axolotl-{script_b}", "temperature": 0.2, **fields.pop("agent_b", {})},
        "seed_prompt": "Talk about the sky.",
        **fields,
    }
    status, made = person.call("POST", "conversations/", body)
    assert status == expect, made
    return made


def act(person: Person, conversation: JSON, name: str, body: JSON | None = None, *, expect: int = 200) -> JSON:
    status, answer = person.call("POST", f"conversations/{conversation['id']}/{name}/", body or {})
    assert status == expect, answer
    return answer


def read(person: Person, conversation: JSON) -> JSON:
    status, now = person.call("GET", f"conversations/{conversation['id']}/")
    assert status == 200, now
    return now


def until_still(person: Person, conversation: JSON, *, seconds: float = DONE_WITHIN_SECONDS) -> JSON:
    """The conversation as soon as nobody speaks any more, and no model reads it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = read(person, conversation)
        live = [row for row in now["turns"] + now["analyses"] if row["status"] in ("waiting", "streaming")]
        if now["progress"]["state"] != "running" and not live:
            return now
        time.sleep(0.05)
    raise TimeoutError(now["progress"])
