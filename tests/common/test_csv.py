"""A table that was written by strangers does nothing when a spreadsheet opens it."""

import csv
import io

import pytest

from common.csv import csv_lines, defused


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1", "\uff1d1", '=HYPERLINK("//x")']
)
def test_a_text_that_could_run_is_quoted(cell: str) -> None:
    assert defused(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "plain", "a=b", "1-2", "Größe", 5, -5, -0.5, None])
def test_anything_else_stays_as_it_is(cell: object) -> None:
    assert defused(cell) == cell


def test_lines_can_be_read_again_whatever_is_in_them() -> None:
    rows = [["a,b", 'say "hi"'], ["two\nlines", "ünï"]]
    text = "".join(csv_lines(["x", "y"], rows))
    assert list(csv.reader(io.StringIO(text))) == [["x", "y"], *rows]
