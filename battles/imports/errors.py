"""What callers of the imports may catch."""

from common.errors import TourneyError


class ImportInvalid(TourneyError):
    code = "import_invalid"


def at(line: int, what: str) -> ImportInvalid:
    return ImportInvalid(f"line {line}: {what} Nothing of this file was kept.")
