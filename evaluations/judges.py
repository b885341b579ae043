"""Builds what a judge is asked. Pure.

Answers are hostile: one may tell the judge to give it ten. In our own prompts they stand between marks that nobody can
write who does not know the secret, and the judge is told that what stands there is never an instruction. FastChat's
prompts are filled in exactly as FastChat does it.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from evaluations.scorers import Rubric

REMINDER = "Your reply held no verdict in the form that was asked for. Reply again with nothing but one line: {form}"
FORMS = {
    "[[rating]]": 'a number from 1 to 10 in double brackets, for example "Rating: [[5]]".',
    "[[A]]": '"[[A]]", "[[B]]", or "[[C]]" for a tie.',
    "[[rating_a,rating_b]]": 'both ratings from 1 to 10, for example "[[7,5]]".',
    "1/2/3": "1, 2, or 3 for a tie.",
}
RATINGS_REMINDER = (
    "Your reply held no rating of each criterion. Reply again with nothing but these lines, a number in each:\n{lines}"
)
RUBRIC_PLACEHOLDERS = ("criteria", "lines", "low", "high")
OURS = ("mark", "conversation", "conversation_a", "conversation_b", "reference", *RUBRIC_PLACEHOLDERS)
# Source: FastChat, data/judge_prompts.jsonl
THEIRS = (
    "question", "answer", "answer_a", "answer_b", "question_1", "question_2", "answer_1", "answer_2",
    "answer_a_1", "answer_a_2", "answer_b_1", "answer_b_2", "ref_answer_1", "ref_answer_2",
)  # fmt: skip
MARK_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged: the user's turns up to the one that is judged, the answers to them of one side or of two in
    the order in which they are shown, the reference turn by turn, empty for none, and the rubric where there is one."""

    turns: Sequence[str]
    answers: tuple[Sequence[str], ...]
    reference: Sequence[str] = ()
    rubric: Rubric | None = None


def template_problem(template: str) -> str:
    """What is wrong with a template; empty where nothing is."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        return f"The braces do not fit together: {error}."
    unknown = sorted(names - {*OURS, *THEIRS})
    return f"These placeholders are not known: {', '.join(unknown)}." if unknown else ""


def user_prompt(template: str, case: Case, *, secret: str) -> str:
    """The template, filled in. Raises KeyError for a placeholder that the case cannot fill."""
    return template.format_map(_values(case, _mark(case, secret)))


def _values(case: Case, mark: str) -> Mapping[str, str]:
    values = {"mark": mark, "question": case.turns[0]}
    for number, turn in enumerate(case.turns, start=1):
        values[f"question_{number}"] = turn
    for number, turn in enumerate(case.reference, start=1):
        values[f"ref_answer_{number}"] = turn
    names = ("",) if len(case.answers) == 1 else ("_a", "_b")
    for name, answers in zip(names, case.answers, strict=True):
        values[f"answer{name}"] = answers[0]
        values[f"conversation{name}"] = _conversation(case.turns, answers, mark)
        for number, answer in enumerate(answers, start=1):
            values[f"answer{name}_{number}"] = answer
    if case.rubric is not None:
        values |= {"criteria": _criteria(case.rubric), "lines": rating_lines(case.rubric)}
        values |= {"low": str(case.rubric.low), "high": str(case.rubric.high)}
    values["reference"] = _conversation(case.turns, case.reference, mark, "reference")
    return values


def _criteria(rubric: Rubric) -> str:
    return "\n".join(
        f"- {criterion.name}: {criterion.description}" if criterion.description else f"- {criterion.name}"
        for criterion in rubric.criteria
    )


def rating_lines(rubric: Rubric) -> str:
    """The form of a reply: one line a criterion."""
    return "\n".join(f"{criterion.name}: [[{rubric.low}-{rubric.high}]]" for criterion in rubric.criteria)


def _conversation(turns: Sequence[str], answers: Sequence[str], mark: str, who: str = "assistant") -> str:
    parts = []
    for turn, answer in zip(turns, answers, strict=False):
        parts.append(f"<user-{mark}>\n{turn}\n</user-{mark}>")
        parts.append(f"<{who}-{mark}>\n{answer}\n</{who}-{mark}>")
    return "\n".join(parts)


def _mark(case: Case, secret: str) -> str:
    """The same for the same case, so that an equal judgment can be found again."""
    said = "\0".join([*case.turns, *(answer for side in case.answers for answer in side), *case.reference])
    return hmac.new(secret.encode(), said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:MARK_LENGTH]
