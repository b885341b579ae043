"""Battles at an endpoint of the test server that takes one request at a time, and keeps it for as long as a test
wants."""

import itertools
from typing import Any

from tests.fakes.scripts import HELD
from tests.live import JSON, Person

SCRIPTS = ("narrow-held", "narrow-held-too")

_numbers = itertools.count(1)


class Line:
    def __init__(self, person: Person) -> None:
        self.person = person
        self.prompts: list[str] = []

    def battle(self, **fields: Any) -> JSON:
        return self.person.battle(*SCRIPTS, prompt=self.prompt(), **fields)

    def prompt(self) -> str:
        """A new one, which is not answered before `go_on`."""
        self.prompts.append(f"What takes so long? {next(_numbers)}")
        return self.prompts[-1]

    def go_on(self) -> None:
        """Let all that was asked be answered."""
        for prompt in self.prompts:
            HELD.release(prompt)
