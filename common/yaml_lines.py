"""YAML whose every value knows its line, so that what is wrong with a file can be said where it stands."""

import math
from dataclasses import dataclass
from typing import Any

import yaml

from common.errors import TourneyError

FILE_MAX_CHARACTERS = 5_000_000
DEPTH_MAX = 20
# What a plain value may be. No dates, sets and binaries: nothing here has a use for them.
TAG = "tag:yaml.org,2002:"
SCALARS = frozenset({TAG + "str", TAG + "int", TAG + "float", TAG + "bool", TAG + "null"})


class FileInvalid(TourneyError):
    """What is wrong with a file, each with its line; nothing of it was used."""

    code = "file_invalid"

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems), fields={"file": problems})
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Located:
    """A value with its line, counted from 1: a scalar, a list of Located, or a dict of Located by key."""

    value: Any
    line: int

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: inner.plain() for key, inner in self.value.items()}
        if isinstance(self.value, list):
            return [inner.plain() for inner in self.value]
        return self.value


def read(text: str) -> Located:
    """Read a file. Raises FileInvalid for what is no YAML, a key that stands twice, an alias (a few of them can stand
    for gigabytes), too deep a nesting, a tag, a number without end, or text that no database holds."""
    if len(text) > FILE_MAX_CHARACTERS:
        raise FileInvalid([f"The file has more than {FILE_MAX_CHARACTERS} characters."])
    loader = yaml.SafeLoader(text)
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise FileInvalid([f"line {line}: aliases (*{event.anchor}) are not read."])
        node = loader.get_single_node()
        return Located({}, 1) if node is None else _located(loader, node, 0)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FileInvalid([f"line {line}: {error.problem or error.context}."]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise FileInvalid([f"This is no YAML: {error}"]) from error
    finally:
        loader.dispose()


def _located(loader: yaml.SafeLoader, node: yaml.Node, depth: int) -> Located:
    line = node.start_mark.line + 1
    if depth > DEPTH_MAX:
        raise FileInvalid([f"line {line}: nested too deeply."])
    if isinstance(node, yaml.MappingNode) and node.tag == TAG + "map":
        found: dict[str, Located] = {}
        for key_node, value_node in node.value:
            key = str(_scalar(loader, key_node))
            if key in found:
                raise FileInvalid([f"line {key_node.start_mark.line + 1}: {key} stands twice."])
            value = _located(loader, value_node, depth + 1)
            found[key] = Located(value.value, key_node.start_mark.line + 1)
        return Located(found, line)
    if isinstance(node, yaml.SequenceNode) and node.tag == TAG + "seq":
        return Located([_located(loader, inner, depth + 1) for inner in node.value], line)
    return Located(_scalar(loader, node), line)


def _scalar(loader: yaml.SafeLoader, node: yaml.Node) -> str | int | float | bool | None:
    line = node.start_mark.line + 1
    if node.tag == TAG + "timestamp" and isinstance(node, yaml.ScalarNode):
        return str(node.value)  # a date is text here
    if node.tag not in SCALARS or not isinstance(node, yaml.ScalarNode):
        raise FileInvalid([f"line {line}: {node.tag.removeprefix(TAG)} is not read here."])
    try:
        value: str | int | float | bool | None = loader.construct_object(node)
    except (ValueError, KeyError) as error:  # !!int many, !!bool perhaps
        raise FileInvalid([f"line {line}: {node.value!r} is no {node.tag.removeprefix(TAG)}."]) from error
    if isinstance(value, float) and not math.isfinite(value):
        raise FileInvalid([f"line {line}: {node.value} is no number that can be stored."])
    if isinstance(value, str) and ("\0" in value or (not value.isascii() and _has_half_characters(value))):
        raise FileInvalid([f"line {line}: the text holds a character that cannot be stored."])
    return value


def _has_half_characters(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
