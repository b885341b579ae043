"""The texts of scenarios and their placeholders. Pure."""

import re
from collections.abc import Mapping

from conversations.errors import ScenarioInvalid

# A word between single braces; a doubled brace stands for itself.
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")
PLACEHOLDERS = ("name", "other", "persona", "turns")


def placeholders_check(texts: Mapping[str, str]) -> None:
    """Raises ScenarioInvalid where a text, by the name of its field, has a placeholder that is not known."""
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    unknown = {
        field: [name for name in dict.fromkeys(PLACEHOLDER.findall(text)) if name and name not in PLACEHOLDERS]
        for field, text in texts.items()
    }
    problems = {
        field: [f"{{{name}}} is no placeholder. Known are {known}; write {{{{ for a brace." for name in names]
        for field, names in unknown.items()
        if names
    }
    if problems:
        raise ScenarioInvalid(" ".join(words for said in problems.values() for words in said), fields=problems)


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced; its names must have been checked."""

    def put(found: re.Match[str]) -> str:
        return values[found[1]] if found[1] else found[0][0]

    return PLACEHOLDER.sub(put, text)
