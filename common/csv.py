"""Tables as CSV that is safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

# What spreadsheets take for the beginning of a formula, in half and full width.
# Source: https://owasp.org/www-community/attacks/CSV_Injection
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def defused(cell: object) -> object:
    """The cell, with an apostrophe before a text that a spreadsheet would run as a formula."""
    if isinstance(cell, str) and (cell.startswith(FORMULA) or cell.lstrip().startswith(FORMULA)):
        return f"'{cell}"
    return cell


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a CSV file one by one, the header first, line ends included."""
    line = io.StringIO()
    writer = csv.writer(line)
    writer.writerow(header)
    yield line.getvalue()
    for row in rows:
        line.seek(0)
        line.truncate()
        writer.writerow([defused(cell) for cell in row])
        yield line.getvalue()
