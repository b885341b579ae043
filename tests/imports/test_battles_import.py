"""Votes from elsewhere come in whole or not at all, and once."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from battles.imports import reading
from battles.imports.battles import battles_import
from battles.imports.errors import ImportInvalid
from leaderboard.models import Board, Comparison
from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.types import TIE, A, B, Counts
from providers.models import LanguageModel
from tests.leaderboard.reference import read

pytestmark = pytest.mark.django_db
ROW = {"model_a": "Ann", "model_b": "Ben", "winner": "model_a"}


def table(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def jsonl(*rows: Any) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def load(data: bytes, **more: Any) -> Any:
    return battles_import(file=io.BytesIO(data), board="crowd", **more)


SHAPES = {
    "csv": table([ROW, ROW]),
    "csv_bom_crlf": b"\xef\xbb\xbf" + table([ROW, ROW]),
    "jsonl": jsonl(ROW, ROW),
    "json": json.dumps([ROW, ROW]).encode(),
    "json_indented": json.dumps([ROW, ROW], indent=2).encode(),
    "packed": gzip.compress(jsonl(ROW, ROW)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_and_equal_rows_count_each(shape: str) -> None:
    done = load(SHAPES[shape])
    assert (done.rows, done.new, done.unknown) == (2, 2, ["Ann", "Ben"])
    assert load(SHAPES["jsonl"]).new == 0, "the same votes in any shape are the same"


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_a_list_is_read_alike_wherever_its_pieces_end(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", chunk)
    told = [ROW | {"conversation_a": [{"content": 'a "b" } ] \\\\'}]}, ROW | {"judge": "last"}]
    data = b"\n" + json.dumps(told, indent=1).encode()
    numbered = list(reading.rows(io.BytesIO(data)))
    assert [row for _, row in numbered] == told
    assert [line for line, _ in numbered] == [3, 13]


def test_a_list_may_be_one_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ROW_BYTES", 200)
    assert len(list(reading.rows(io.BytesIO(json.dumps([ROW] * 50).encode())))) == 50


def test_what_a_row_says_is_kept() -> None:
    load(jsonl(ROW | {"winner": "tie (bothbad)", "judge": "j1", "anony": False, "language": "de", "tstamp": 1.5e9}))
    vote = Comparison.objects.get()
    assert (vote.outcome, vote.judge, vote.is_blind, vote.language) == ("both_bad", "j1", False, "de")
    assert vote.created_at.timestamp() == 1.5e9
    assert set(LanguageModel.objects.values_list("status", flat=True)) == {"external"}
    board = Board.objects.get(slug="crowd")
    assert (board.slug, board.imported_as, board.sources, board.blind_only) == ("crowd", "crowd", ["import"], False)


BAD = {
    "unknown winner": jsonl(ROW, ROW | {"winner": "left"}),
    "no model": jsonl(ROW, {"model_a": "Ann", "winner": "tie"}),
    "against itself": jsonl(ROW, ROW | {"model_b": "Ann"}),
    "a NUL": jsonl(ROW, ROW | {"model_b": "B\0"}),
    "not a number": jsonl(ROW) + b'\n{"model_a": "a", "model_b": "b", "winner": "tie", "tstamp": NaN}',
    "nested": jsonl(ROW, ROW | {"model_b": {"name": "Ben"}}),
    "too deep": jsonl(ROW) + b"\n" + b'{"a":' * 100_000,
    "not UTF-8": jsonl(ROW) + b'\n{"model_a": "\xff"}',
    "a row that is none": jsonl(ROW, [ROW]),
    "columns": table([ROW]) + b"Ann,Ben\n",
    "huge": jsonl(ROW) + b"\n" + b" " * (reading.ROW_BYTES + 1),
    "bomb": gzip.compress(jsonl(ROW) + b"\n" + b"0" * (reading.ROW_BYTES * 4)),
    "list of numbers": b"[" + json.dumps(ROW).encode() + b", 1, " + json.dumps(ROW).encode() + b"]",
    "list without end": b"[" + json.dumps(ROW).encode(),
    "cut off": gzip.compress(jsonl(*[ROW] * 50))[:-12],
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_row_is_named_and_nothing_is_kept(what: str) -> None:
    with pytest.raises(ImportInvalid, match=r"^line \d+: "):
        load(BAD[what])
    assert not any(kind.objects.exists() for kind in (Comparison, LanguageModel))
    assert Board.objects.count() == 1, "the main board alone"


def test_the_line_is_the_line_of_the_row() -> None:
    with pytest.raises(ImportInvalid, match=r"^line 2: winner"):
        load(BAD["unknown winner"])


def test_a_dry_run_tells_and_keeps_nothing() -> None:
    done = load(SHAPES["csv"], is_dry_run=True)
    assert (done.rows, done.new, len(done.first)) == (2, None, 2)
    assert not any(kind.objects.exists() for kind in (Comparison, LanguageModel))
    assert Board.objects.count() == 1, "the main board alone"


def test_the_command_says_what_came_and_what_is_wrong(tmp_path: Path) -> None:
    path, out = tmp_path / "votes.csv", io.StringIO()
    path.write_bytes(SHAPES["csv"])
    call_command("battles_import", str(path), board="crowd", stdout=out)
    assert "2 new" in out.getvalue()
    with pytest.raises(CommandError, match="not one for imports"):
        call_command("battles_import", str(path), board="main")


def test_imported_crowd_votes_give_the_ratings_of_three_other_solvers(shared_data: Path) -> None:
    with (shared_data / "battles" / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    words = {"left": "model_a", "right": "model_b", "tie": "tie"}
    rows = [
        {"model_a": x["left"], "model_b": x["right"], "winner": words[x["winner"]], "judge": x["worker"]} for x in lines
    ]
    assert load(table(rows)).new == 8931
    assert load(table(rows)).new == 0
    with (shared_data / "battles" / "reference_ratings.csv").open(encoding="utf-8", newline="") as file:
        position = {row["model"]: index for index, row in enumerate(csv.DictReader(file))}
    stored = Comparison.objects.filter(board="crowd").values_list("model_a__name", "model_b__name", "outcome")
    first, second, outcome = zip(*stored, strict=True)
    codes = {"a": A, "b": B, "tie": TIE}
    fitted = fit(
        Counts.of(
            len(position), [position[x] for x in first], [position[x] for x in second], [codes[x] for x in outcome]
        )
    )
    reference = read(shared_data)
    assert fitted.ratings == pytest.approx(reference.columns["mle_elo400_mean1000"], abs=1e-3)
    assert fitted.lower == pytest.approx(reference.columns["ar_lower95"], abs=0.05)
    assert fitted.upper == pytest.approx(reference.columns["ar_upper95"], abs=0.05)
