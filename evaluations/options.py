"""What a run may set, and what the reference sets. Pure."""

from typing import Annotated

import msgspec

# Source: FastChat, fastchat/llm_judge/common.py (temperature_config), gen_model_answer.py and gen_judgment.py
TEMPERATURES = {
    "writing": 0.7,
    "roleplay": 0.7,
    "extraction": 0.0,
    "math": 0.0,
    "coding": 0.0,
    "reasoning": 0.0,
    "stem": 0.1,
    "humanities": 0.1,
}
# Of other categories, as FastChat's gen_api_answer.py.
TEMPERATURE_ELSE = 0.7
JUDGE_TEMPERATURE = 0.0
# What a reasoning model thinks comes off its limit, so that the reference's would leave it no word.
REASONING_FACTOR = 8

Temperature = Annotated[float, msgspec.Meta(ge=0, le=5)]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How a run asks and judges."""

    temperatures: dict[str, Temperature] = {}
    """By category, over those of the reference."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1024
    judge_max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 2048
    choices: Annotated[int, msgspec.Meta(ge=1, le=16)] = 1
    repeats: Annotated[int, msgspec.Meta(ge=1, le=16)] = 1
    """How often each judge judges the same answer."""
    seed: int | None = None
    max_questions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The first so many; spread over the categories where the set has several."""
    with_references: bool = True
    reference_version: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The newest without it."""
    memory_limit: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """GiB that a model may take; one of our own engines that needs more is refused."""
    prompts: str = "tourney"
    """The family of judge prompts."""

    def temperature(self, category: str) -> float:
        return self.temperatures.get(category, TEMPERATURES.get(category, TEMPERATURE_ELSE))


def spread(categories: list[str], most: int | None) -> list[int]:
    """The indices of at most `most` questions, one of each category in turn, in their own order."""
    if most is None or most >= len(categories):
        return list(range(len(categories)))
    queues: dict[str, list[int]] = {}
    for index, category in enumerate(categories):
        queues.setdefault(category, []).append(index)
    picked: list[int] = []
    while len(picked) < most:
        for queue in queues.values():
            if queue and len(picked) < most:
                picked.append(queue.pop(0))
    return sorted(picked)
