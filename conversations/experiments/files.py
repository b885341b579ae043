"""A grid as a file: YAML, or the manifest of an experiment, which is run again by it."""

from typing import Any

from common.errors import TourneyError
from common.rows import Problems, check_keys
from common.yaml_lines import FileInvalid, Located, read
from conversations.experiments.plan import Grid

# What other parts call these keys of a grid.
KEYS = {"max_turns": "turns"}


class GridFile:
    """A grid with its lines. Raises FileInvalid for what is no YAML, and for keys that no grid has."""

    def __init__(self, text: str) -> None:
        self._whole = read(text)
        if isinstance(self._whole.value, dict) and isinstance(self._whole.value.get("grid", None), Located):
            self._whole = self._whole.value["grid"]  # of a manifest
        if not isinstance(self._whole.value, dict):
            raise FileInvalid(["line 1: a grid has keys and values, such as “name: first”."])
        problems = Problems()
        check_keys(self._whole, Grid.__struct_fields__, problems)
        if problems:
            raise FileInvalid(problems.in_order())

    @property
    def grid(self) -> dict[str, Any]:
        """As `services.experiment_create` takes it."""
        return dict(self._whole.plain())

    def located(self, error: TourneyError) -> TourneyError:
        """The error with the line of what is wrong, where it says which key that is."""
        for field in error.fields:
            found = self._whole.value.get(KEYS.get(field, field))
            if found is not None:
                return FileInvalid([f"line {_nearest(found, str(error)).line}: {error}"])
        return error


def _nearest(found: Located, words: str) -> Located:
    """The entry of a list that the words quote, or the whole."""
    entries: list[Located] = found.value if isinstance(found.value, list) else []
    for entry in entries:
        if any(f"“{one}”" in words for one in (entry.plain() if isinstance(entry.value, list) else [entry.value])):
            return entry
    return found
