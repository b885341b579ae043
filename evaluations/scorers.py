"""What a question says of how its answers are scored, and the scorers that need no judge. Pure.

    {"kind": "exact", "answers": ["Paris"], "ignore_case": true}       one of these, and nothing else
    {"kind": "contains", "answers": ["Ada", "Grace"]}                  all of these
    {"kind": "regex", "pattern": "^\\\\d{4}-\\\\d{2}$"}                    found anywhere; RE2's syntax
    {"kind": "numeric", "answer": 3.14, "tolerance": 0.005}            the last number, or the one in \\boxed{}
    {"kind": "json_schema", "schema": {"type": "object"}}              the answer, or its one block of code
    {"kind": "rubric", "criteria": [{"name": "clarity", "weight": 2}]} a judge rates each criterion
    {"kind": "judge"}                                                  a judge, as where nothing is said

Each takes `turn`; without it a scorer scores the last turn, and a judge all of them. Answers are hostile and patterns
may be careless, so patterns run on RE2, whose time grows with the text alone.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import jsonschema
import msgspec
import re2
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from evaluations.verdicts import HIGHEST, LOWEST

PATTERN_MEMORY = 8 * 2**20
SCORERS_MAX = 16
SHOWN_LENGTH = 200

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=100)]
Turn = Annotated[int, msgspec.Meta(ge=1, le=50)]


@dataclass(frozen=True, slots=True)
class Match:
    """Whether an answer is right, and in a few words what was found in it."""

    passed: bool
    found: str


class _Scorer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    turn: Turn | None = None
    """The last one without it."""


class Exact(_Scorer, frozen=True, tag_field="kind", tag="exact"):
    answers: Texts
    ignore_case: bool = False

    def match(self, text: str) -> Match:
        said = _plain(text, self.ignore_case)
        return Match(said in {_plain(answer, self.ignore_case) for answer in self.answers}, said)


class Contains(_Scorer, frozen=True, tag_field="kind", tag="contains"):
    answers: Texts
    ignore_case: bool = True

    def match(self, text: str) -> Match:
        said = _plain(text, self.ignore_case)
        missing = [answer for answer in self.answers if _plain(answer, self.ignore_case) not in said]
        return Match(not missing, f"without {', '.join(missing)}" if missing else "all of them")


class Regex(_Scorer, frozen=True, tag_field="kind", tag="regex"):
    pattern: Text
    ignore_case: bool = False

    def match(self, text: str) -> Match:
        found = _pattern(self.pattern, self.ignore_case).search(_encodable(text))
        return Match(found is not None, found[0] if found else "no such text")


class Numeric(_Scorer, frozen=True, tag_field="kind", tag="numeric"):
    answer: float
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Absolute."""
    relative: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """As a share of the answer; the wider of both counts."""

    def match(self, text: str) -> Match:
        number = last_number(text)
        if number is None:
            return Match(False, "no number")
        is_near = math.isclose(number, self.answer, rel_tol=0, abs_tol=self._room)
        return Match(is_near, f"{number:.12g}")

    @property
    def _room(self) -> float:
        # One part in 10¹² for what decimals lose in binary.
        return max(self.tolerance, abs(self.answer) * max(self.relative, 1e-12))


class JsonSchema(_Scorer, frozen=True, tag_field="kind", tag="json_schema"):
    schema: dict[str, Any]

    def match(self, text: str) -> Match:
        block = BLOCK.findall(text)
        try:
            value = json.loads(block[0] if len(block) == 1 else text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return Match(False, "no JSON")
        try:
            error = next(iter(_validator(json.dumps(self.schema)).iter_errors(value)), None)
        except (RecursionError, Unresolvable) as problem:
            return Match(False, f"the schema cannot be applied: {type(problem).__name__}")
        return Match(error is None, "valid" if error is None else f"{error.json_path}: {error.message}")


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a rubric asks for. The name is what the judge repeats beside its rating."""

    name: Annotated[str, msgspec.Meta(pattern=r"^\w[\w -]{0,39}$")]
    description: str = ""
    weight: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class Rubric(_Scorer, frozen=True, tag_field="kind", tag="rubric"):
    criteria: Annotated[tuple[Criterion, ...], msgspec.Meta(min_length=1, max_length=20)]
    low: int = 1
    high: int = 5

    def mean(self, ratings: Mapping[str, float]) -> float:
        """The weighted mean, from 0 for the lowest to 1 for the highest."""
        weights = sum(criterion.weight for criterion in self.criteria)
        total = sum(criterion.weight * ratings[criterion.name] for criterion in self.criteria)
        return (total / weights - self.low) / (self.high - self.low)


class Judge(_Scorer, frozen=True, tag_field="kind", tag="judge"):
    """As where a question names no scorer."""


Matcher = Exact | Contains | Regex | Numeric | JsonSchema
Scorer = Matcher | Rubric | Judge
MATCHERS = (Exact, Contains, Regex, Numeric, JsonSchema)


def on_scale(share: float) -> float:
    """A share from 0 to 1 on the scale of all scores, so that a set may mix them: a match is 10, and none is 1."""
    return LOWEST + (HIGHEST - LOWEST) * share


class ScorerInvalid(ValueError):
    """What is wrong with a list of scorers, in words."""


def scorers_read(value: object, *, turns: int) -> tuple[Scorer, ...]:
    """The scorers of a question of so many turns. Raises ScorerInvalid."""
    try:
        found: tuple[Scorer, ...] = msgspec.convert(
            value, Annotated[tuple[Scorer, ...], msgspec.Meta(max_length=SCORERS_MAX)]
        )
    except (msgspec.ValidationError, TypeError) as error:
        raise ScorerInvalid(str(error)) from error
    for place, scorer in enumerate(found, start=1):
        if problem := _problem(scorer, turns):
            raise ScorerInvalid(f"scorer {place}: {problem}")
    judged = [scorer.turn for scorer in found if isinstance(scorer, Judge)]
    if len(set(judged)) < len(judged) or (None in judged and len(judged) > 1):
        raise ScorerInvalid("a judge without a turn judges all of them: name each turn once, or no turn at all.")
    return found


def last_number(text: str) -> float | None:
    """The number that an answer ends with: the last in a \\boxed{}, else the last of all. Commas that group digits by
    three are left out; None where there is no number."""
    words = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    boxed = BOXED.findall(words)
    found = NUMBER.findall(boxed[-1] if boxed and NUMBER.search(boxed[-1]) else words)
    if not found:
        return None
    number = float(found[-1].replace(",", ""))
    return number if math.isfinite(number) else None


# Each is linear: what repeats is bounded, or cannot begin in two places.
BLOCK = re.compile(r"^```\w{0,10}\n(.*?)^```", re.DOTALL | re.MULTILINE)
BOXED = re.compile(r"\\boxed\{([^{}]{0,100})\}")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?![\d])")


def _problem(scorer: Scorer, turns: int) -> str:
    if scorer.turn is not None and scorer.turn > turns:
        return f"there is no turn {scorer.turn}."
    if isinstance(scorer, Regex):
        try:
            _pattern(scorer.pattern, scorer.ignore_case)
        except re2.error as error:
            return f"RE2 does not take this pattern: {_words(error)}."
    if isinstance(scorer, Numeric) and not all(map(math.isfinite, (scorer.answer, scorer.tolerance))):
        return "the numbers must be finite."
    if isinstance(scorer, JsonSchema):
        try:
            validator_for(scorer.schema, default=jsonschema.Draft202012Validator).check_schema(scorer.schema)
            _validator(json.dumps(scorer.schema))
        except (SchemaError, RecursionError, re2.error) as error:
            return f"this is no JSON schema: {_words(error)}."
    if isinstance(scorer, Rubric):
        if not 0 <= scorer.low < scorer.high <= 100:
            return "the scale must go from a lower to a higher number, within 0 and 100."
        names = [criterion.name.casefold() for criterion in scorer.criteria]
        if len(set(names)) < len(names):
            return "two criteria have the same name."
    return ""


def _words(error: Exception) -> str:
    said = getattr(error, "message", None) or (error.args[0] if error.args else type(error).__name__)
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def _plain(text: str, ignore_case: bool) -> str:
    """In one form of Unicode, with single spaces, and without spaces at the ends."""
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    return plain.casefold() if ignore_case else plain


def _encodable(text: str) -> str:
    """Without lone surrogates, which RE2 cannot read."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


@lru_cache(maxsize=256)
def _pattern(pattern: str, ignore_case: bool = False) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY
    options.case_sensitive = not ignore_case
    # As Python does without flags, but for the line ends: an answer has many lines.
    return re2.compile(f"(?m){pattern}", options)


def _matches(validator: Any, pattern: str, instance: object, schema: object) -> Any:
    if isinstance(instance, str) and not _pattern(pattern).search(_encodable(instance)):
        yield jsonschema.ValidationError(f"{instance[:SHOWN_LENGTH]!r} does not match {pattern!r}")


def _named_alike(validator: Any, patterns: Mapping[str, Any], instance: object, schema: object) -> Any:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for name, value in instance.items():
                if _pattern(pattern).search(_encodable(name)):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """One whose patterns run on RE2, and that fetches nothing from anywhere."""
    value = json.loads(schema)
    base = validator_for(value, default=jsonschema.Draft202012Validator)
    bounded = jsonschema.validators.extend(base, {"pattern": _matches, "patternProperties": _named_alike})
    for pattern in _patterns(value):
        _pattern(pattern)
    return bounded(value, registry=Registry())


def _patterns(schema: object) -> Sequence[str]:
    """Every pattern in a schema, so that one which RE2 does not take is found before the first answer."""
    if isinstance(schema, dict):
        own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        named = schema.get("patternProperties")
        own += list(named) if isinstance(named, dict) else []
        return [*own, *(found for value in schema.values() for found in _patterns(value))]
    if isinstance(schema, list):
        return [found for value in schema for found in _patterns(value)]
    return []
