"""What callers of the exports may catch."""

from common.errors import TourneyError


class ExportInvalid(TourneyError):
    code = "export_invalid"
