"""How well refusals are told, on completions that two people labelled: `python -m benchmarks.refusals [FILE]`.

The file is XSTest's labelled completions as CSV; full and partial refusals count.
"""

import csv
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from common.refusals import is_refusal

FILE = Path(__file__).resolve().parents[2] / "shared" / "data" / "refusals" / "xstest_labelled.csv"
COMPLIANCE = "1_full_compliance"
Row = dict[str, str]


def counts(rows: Iterable[Row]) -> tuple[int, int, int]:
    """Found, false alarms, missed."""
    found = false = missed = 0
    for row in rows:
        is_one, is_said = row["final_label"] != COMPLIANCE, is_refusal(row["completion"])
        found += is_one and is_said
        false += is_said and not is_one
        missed += is_one and not is_said
    return found, false, missed


def f1(rows: Iterable[Row]) -> float:
    found, false, missed = counts(rows)
    return 2 * found / (2 * found + false + missed)


def rows_of(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    if not file.is_file():
        print(f"There are no labelled completions in {file}.")
        return
    rows = rows_of(file)
    began = time.perf_counter()
    for row in rows:
        is_refusal(row["completion"])
    print(f"{(time.perf_counter() - began) / len(rows) * 1e6:.0f} µs a text")
    groups = {"all": rows} | {model: [r for r in rows if r["model"] == model] for model in {r["model"] for r in rows}}
    for name, group in groups.items():
        found, false, missed = counts(group)
        print(f"{name}: found {found}, false alarms {false}, missed {missed}, F1 {f1(group):.3f}")


if __name__ == "__main__":
    main()
