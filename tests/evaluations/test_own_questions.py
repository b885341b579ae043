"""Our own eighty: complete, and with references that are right. The sums are done again here, and the code is run."""

import math
import re
import sqlite3
from collections import Counter
from fractions import Fraction
from itertools import permutations
from random import Random
from statistics import mean, median
from typing import Any

import pytest
import yaml

from evaluations.models import Question
from evaluations.options import TEMPERATURES
from evaluations.questions.loading import OWN_FILE
from evaluations.services import questions_seed

# Source: FastChat, fastchat/llm_judge/common.py (NEED_REF_CATS)
REFERENCE_CATEGORIES = ("math", "reasoning", "coding")
ENTRIES = yaml.safe_load(OWN_FILE.read_text(encoding="utf-8"))["questions"]
REFERENCES = {entry["question_id"]: entry["reference_answer"] for entry in ENTRIES if "reference_answer" in entry}


def code(number: int, language: str = "python") -> list[str]:
    """The code of both turns of a reference."""
    return [found for turn in REFERENCES[number] for found in re.findall(rf"```{language}\n(.*?)```", turn, re.DOTALL)]


def loaded(number: int) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for piece in code(number):
        exec(piece, names)
    return names


def test_there_are_ten_of_each_category_with_two_turns_and_references_where_one_is_right() -> None:
    assert Counter(entry["category"] for entry in ENTRIES) == dict.fromkeys(TEMPERATURES, 10)
    assert [entry["question_id"] for entry in ENTRIES] == list(range(1, 81))
    for entry in ENTRIES:
        assert len(entry["turns"]) == 2
        assert len(entry.get("reference_answer", [])) == (2 if entry["category"] in REFERENCE_CATEGORIES else 0)


@pytest.mark.django_db
def test_they_are_loaded_once() -> None:
    assert questions_seed() == 80
    assert questions_seed() == 0
    assert Question.objects.filter(references__isnull=False).count() == 30


def test_the_answers_to_the_puzzles() -> None:
    orders = [
        order for order in permutations("ABCDE")
        if order.index("A") < order.index("B") and order.index("C") == order.index("B") + 1 and order[-1] == "D"
    ]  # fmt: skip
    assert [o for o in orders if o.index("E") < o.index("A")] == [tuple("EABCD")]
    assert {o for o in orders if o.index("E") > o.index("A")} == {tuple("ABCED"), tuple("AEBCD")}
    contents = {"tea": "t", "coffee": "c", "both": "tc"}
    cases = [dict(zip(contents, case, strict=True)) for case in permutations(contents.values())]
    wrong = [case for case in cases if sum(case[label] != contents[label] for label in case) == 3]
    assert all(len([case for case in wrong if bag in case["both"]]) == 1 for bag in "tc")
    two = [case for case in cases if sum(case[label] != contents[label] for label in case) == 2]
    assert all(any(len([case for case in two if bag in case[tin]]) > 1 for bag in "tc") for tin in contents)
    assert sum(range(1, 13)) + 12 == 90
    knights = [(m, n) for m in (0, 1) for n in (0, 1) if m == ((m + n) == 1)]
    assert knights == [(0, 0), (1, 0)]
    assert [(m, n) for m, n in knights if n == (m == 0)] == [(1, 0)]
    from datetime import date

    assert (date(2023, 3, 1).strftime("%a"), date(2023, 5, 1).strftime("%a"), date(2023, 1, 1).strftime("%a")) == (
        "Wed", "Mon", "Sun",
    )  # fmt: skip
    assert math.hypot(4, 3) == 5
    assert round(math.degrees(math.atan2(4, 3))) == 53


def test_the_answers_to_the_sums() -> None:
    rate = Fraction(1, 6) + Fraction(1, 4) - Fraction(1, 12)
    assert 1 / rate == 3
    assert 1 + (1 - Fraction(5, 12)) / rate == Fraction(11, 4)
    draws = list(permutations("RRRRRBBB", 2))
    assert Fraction(sum(a != b for a, b in draws), len(draws)) == Fraction(15, 28)
    blue = [pair for pair in draws if pair[1] == "B"]
    assert Fraction(sum(a == "R" for a, _ in blue), len(blue)) == Fraction(5, 7)
    assert [x for x in range(-9, 10) if x * x - 5 * abs(x) + 6 == 0] == [-3, -2, 2, 3]
    assert [x for x in range(-9, 10) if x * x - 5 * abs(x) == 0] == [-5, 0, 5]
    worth = [round(2000 * 1.05**year, 2) for year in range(10)]
    assert (worth[3], worth[8], worth[9]) == (2315.25, 2954.91, 3102.66)
    assert math.dist((3, 3), (4.5, 6)) == pytest.approx(1.5 * math.sqrt(5)) == pytest.approx(3.354, abs=1e-3)
    fits = [n for n in range(1, 1001) if n % 4 == 1 and n % 5 == 2 and n % 7 == 3]
    assert (fits[0], len(fits), fits[-1]) == (17, 8, 997)
    terms = [1]
    while len(terms) < 6:
        terms.append(2 * terms[-1] + 3)
    assert (terms[-1], sum(terms)) == (125, 234)
    assert max((y * (40 - 2 * y), 40 - 2 * y, y) for y in range(1, 20)) == (200, 20, 10)
    assert max((x * (120 - 3 * x) / 4, x) for x in range(1, 40)) == (300, 20)
    words = {"".join(order) for order in permutations("LEVEL")}
    assert (len(words), sum("LL" not in word for word in words)) == (30, 18)
    values = [4, 8, 6, 5, 3, 10]
    assert (mean(values), median(values), mean([*values, 13]), median([*values, 13])) == (6, 5.5, 7, 6)


def test_the_answers_in_code_about_texts() -> None:
    names = loaded(41)
    random = Random(1)
    for _ in range(50):
        text = "".join(random.choices("ab", k=random.randrange(8)))
        assert names["unrle"](names["rle"](text)) == text
    for broken in ([("a", 1), ("a", 2)], [("ab", 1)], [("a", 0)]):
        with pytest.raises(ValueError, match=r"character|count"):
            names["unrle"](broken)
    names = loaded(46)
    assert names["balanced"]("a(b[c]{d})")
    assert [names["balanced"](text) for text in ("(", ")", "([)]")] == [False] * 3
    assert [names["fault"](text) for text in ("()", "(", ")", "([)]", "(()", "a[(")] == [-1, 0, 0, 2, 0, 2]
    names = loaded(47)
    assert names["top"]("b a B a c", 2) == [("a", 2), ("b", 2)]
    assert names["top_lines"](["b a", "B a c"], 2) == [("a", 2), ("b", 2)]


def test_the_answers_in_code_about_structures() -> None:
    names = loaded(42)
    assert names["merge"]([(5, 6), (1, 3), (3, 4)]) == [(1, 4), (5, 6)]
    assert names["free"]([(1, 3), (5, 6)], 0, 8) == [(0, 1), (3, 5), (6, 8)]
    assert names["free"]([(1, 9)], 2, 8) == []
    assert names["free"]([(9, 10)], 2, 8) == [(2, 8)]
    names = loaded(45)
    items = sorted(Random(2).choices(range(9), k=40))
    assert [names["lower"](items, n) for n in range(11)] == [sum(item < n for item in items) for n in range(11)]
    assert [names["count"](items, n) for n in range(11)] == [items.count(n) for n in range(11)]
    names = loaded(48)
    graph = {"a": {"b": 7, "c": 1}, "c": {"b": 2}, "b": {}, "d": {}}
    assert names["distances"](graph, "a") == {"a": 0, "c": 1, "b": 3}
    assert names["path"](graph, "a", "b") == ["a", "c", "b"]
    assert names["path"](graph, "a", "d") is None
    names = loaded(50)
    cache, now = names["LRU"](2), [0.0]
    for key in "abc":
        cache.put(key, key.upper())
        cache.get("a")
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]
    timed = names["ExpiringLRU"](2, 5, clock=lambda: now[0])
    timed.put("a", 1)
    assert timed.get("a") == 1
    now[0] = 5
    assert timed.get("a") is None


def test_the_answers_about_python_and_sql() -> None:
    lists: dict[str, Any] = {}
    exec("def remember(item, items=[]):\n    items.append(item)\n    return items", lists)
    assert (list(lists["remember"]("a")), list(lists["remember"]("b"))) == (["a"], ["a", "b"])
    mine, remember = ["x"], loaded(43)["remember"]
    assert (remember("a"), remember("b"), remember("c", mine), mine) == (["a"], ["b"], ["x", "c"], ["x"])
    assert [f() for f in [lambda: i for i in range(3)]] == [2, 2, 2]  # noqa: B023 - that is the question
    assert loaded(49)["first"] == loaded(49)["second"] == [0, 1, 2]
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE orders (id, customer, day, amount)")
    rows = [
        (1, "x", 1, 5),
        (2, "x", 3, 6),
        (3, "x", 3, 7),
        (4, "y", 2, 9),
        (5, "z", 1, 1),
        (6, "z", 1, 1),
        (7, "z", 1, 1),
    ]
    table.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    totals, latest = code(44, "sql")
    assert table.execute(totals).fetchall() == [("x", 18), ("z", 3)]
    assert sorted(row[0] for row in table.execute(latest)) == [3, 4, 7]
