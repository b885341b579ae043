"""Models and judges of a fake upstream, and a small run on it."""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from evaluations.models import Question, QuestionSet, ReferenceAnswer, Run
from evaluations.services import run_create
from providers.models import Endpoint, LanguageModel
from tests import factories
from tests.fakes.scripts import Answer, Call, Script
from tests.fakes.upstream import Upstream


def _said(call: Call) -> str:
    return str(call.request.messages[-1]["content"])


@dataclass
class Says:
    """Answers each turn with its own words and the number of the turn."""

    words: str
    seconds: float = 0.0

    async def play(self, call: Call) -> None:
        turn = sum(message["role"] == "user" for message in call.request.messages)
        await asyncio.sleep(self.seconds)
        await Answer(f"{self.words} {turn}", seconds_a_token=0).play(call)


@dataclass
class SilentInTurn:
    """Says nothing in one turn."""

    turn: int

    async def play(self, call: Call) -> None:
        turn = sum(message["role"] == "user" for message in call.request.messages)
        await Answer("" if turn == self.turn else f"word {turn}", seconds_a_token=0).play(call)


@dataclass
class Grades:
    """A judge: grades the number that stands last in the last answer, or prefers the side whose first word is later in
    the alphabet. `first` is what it says to a question before the reminder."""

    first: str = ""
    seconds: float = 0.0

    async def play(self, call: Call) -> None:
        await asyncio.sleep(self.seconds)
        if self.first and len(call.request.messages) == 2:
            await Answer(self.first, seconds_a_token=0).play(call)
            return
        answers = re.findall(
            r"<assistant-\w+>\n(.*?)\n</assistant-", str(call.request.messages[1]["content"]), re.DOTALL
        )
        if "assistant B" in _said(call) and "[[C]]" in _said(call):
            half = len(answers) // 2
            one, two = answers[half - 1], answers[-1]
            verdict = "[[C]]" if one == two else "[[A]]" if one > two else "[[B]]"
        else:
            verdict = f"Rating: [[{(re.findall(r'[0-9]+', answers[-1]) or ['3'])[-1]}]]"
        await Answer(f"I have read both. {verdict}", seconds_a_token=0).play(call)


@dataclass
class Always:
    """Says the same to everybody."""

    text: str

    async def play(self, call: Call) -> None:
        await Answer(self.text, seconds_a_token=0).play(call)


SCRIPTS: dict[str, Script] = {
    "alpha": Says("alpha"),
    "beta": Says("beta"),
    "mute": SilentInTurn(2),
    "judge": Grades(),
    "forgetful": Grades(first="I liked it."),
    "vague": Always("I liked it."),
    "lenient": Always("Rating: [[11]]"),
    "biased": Always("[[A]]"),
}


@dataclass
class Ground:
    """An endpoint on a fake upstream with a model for each script, and a question set."""

    upstream: Upstream
    endpoint: Endpoint
    question_set: QuestionSet
    owner: User
    models: dict[str, LanguageModel] = field(default_factory=dict)

    def run(self, name: str = "small", models: str = "alpha beta", judges: str = "judge", **fields: Any) -> Run:
        return run_create(
            owner=self.owner,
            name=name,
            question_set=self.question_set,
            models=[self.model(one) for one in models.split()],
            judges=[self.model(one) for one in judges.split()],
            **fields,
        )

    def model(self, script: str) -> LanguageModel:
        if script not in self.models:
            self.models[script] = factories.language_model(
                slug=script, endpoint=self.endpoint, upstream_id=script, input_price=1, output_price=2
            )
        return self.models[script]


def ground(upstream: Upstream, questions: int = 3, **endpoint: Any) -> Ground:
    upstream.scripts |= SCRIPTS
    question_set = QuestionSet.objects.create(slug="tiny", name="Tiny")
    rows = [
        Question.objects.create(
            question_set=question_set,
            number=number,
            category="math" if number % 2 else "writing",
            turns=[f"Question {number}?", "And again?"],
        )
        for number in range(1, questions + 1)
    ]
    ReferenceAnswer.objects.create(question=rows[0], author="somebody", turns=["Forty-two.", "Again forty-two."])
    return Ground(upstream, factories.endpoint(base_url=upstream.url, **endpoint), question_set, factories.user())
