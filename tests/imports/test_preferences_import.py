"""Preference files come in whole or not at all, once, and leave as they came."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from battles.exports.export import Export
from battles.exports.selection import Selection
from battles.imports.errors import ImportInvalid
from battles.imports.preferences import preferences_import
from battles.models import ImportedPreference, Prompt, PromptSet
from tests.battles.test_exports import exported, vote

pytestmark = pytest.mark.django_db
PLAIN = {"prompt": "Why?", "chosen": "Because.", "rejected": "No idea."}
USER, GOOD, BAD = (
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "Because."},
    {"role": "assistant", "content": "No idea."},
)


def jsonl(*rows: Any) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def load(*rows: Any, **more: Any) -> Any:
    return preferences_import(file=io.BytesIO(jsonl(*rows)), prompt_set="elsewhere", **more)


SAME = {
    "plain": PLAIN,
    "conversational": {"prompt": [USER], "chosen": [GOOD], "rejected": [BAD]},
    "implicit prompt": {"chosen": [USER, GOOD], "rejected": [USER, BAD]},
    "sharegpt": {
        "conversations": [{"from": "human", "value": "Why?"}],
        "chosen": {"from": "gpt", "value": "Because."},
        "rejected": {"from": "gpt", "value": "No idea."},
    },
}


@pytest.mark.parametrize("shape", SAME)
def test_every_shape_of_a_pair_says_the_same(shape: str) -> None:
    assert (load(SAME[shape]).new, load(PLAIN).new) == (1, 0)
    assert Prompt.objects.get().text == "Why?"
    (row,) = exported(source="import")
    assert {name: row[name] for name in PLAIN} == PLAIN


def test_single_answers_and_prompts_alone_come_too() -> None:
    turns = [{"from": "human", "value": "Which?"}, {"from": "gpt", "value": "This."}]
    done = load(
        {"prompt": "Why?", "completion": "Because.", "label": True, "model": "m"},
        {"conversations": turns, "label": False},
        {"conversations": turns},
    )
    assert (done.pairs, done.single, done.only_prompts, done.new, done.new_prompts) == (0, 2, 1, 2, 2)
    rows = exported("kto", source="import")
    assert [(row["prompt"], row["completion"], row["label"], row["model"]) for row in rows] == [
        ("Why?", "Because.", True, "m"),
        ("Which?", "This.", False, ""),
    ]


def test_what_we_export_comes_back_as_it_left() -> None:
    for shape in ("standard", "conversational"):
        vote(battle_fields={"prompts": [f"Question in {shape}?"], "system_prompt": "Be kind."})
        export = Export(kind="dpo", format="jsonl", selection=Selection(owner_id=None, shape=shape, source="human"))
        data = b"".join(export.pieces())
        preferences_import(file=io.BytesIO(data), prompt_set=shape)
        columns = ["prompt", "chosen", "rejected", "chosen_model", "rejected_model", "category", "language"]
        came = [{name: row[name] for name in columns} for row in exported(source="import", shape=shape)]
        for line in data.splitlines():
            assert {name: json.loads(line)[name] for name in columns} in came


WRONG = {
    "no prompt": {"chosen": "a", "rejected": "b"},
    "one text": {"prompt": "Why?", "chosen": "Because."},
    "equal texts": PLAIN | {"rejected": "Because."},
    "an empty text": PLAIN | {"rejected": " "},
    "a number": PLAIN | {"chosen": 1},
    "a tool": PLAIN | {"chosen": [{"role": "tool", "content": "x"}]},
    "a NUL": PLAIN | {"chosen": "a\0"},
    "a label that is none": {"prompt": "Why?", "completion": "x", "label": "good"},
    "ends with an answer": PLAIN | {"prompt": [USER, GOOD]},
    "nothing known": {"text": "x"},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_bad_row_is_named_and_nothing_is_kept(what: str) -> None:
    with pytest.raises(ImportInvalid, match=r"^line 2: "):
        load(PLAIN, WRONG[what])
    assert not any(kind.objects.exists() for kind in (ImportedPreference, PromptSet, Prompt))


def test_a_dry_run_tells_and_keeps_nothing() -> None:
    done = load(PLAIN, is_dry_run=True)
    assert (done.rows, done.new, done.first) == (1, None, [PLAIN])
    assert not PromptSet.objects.exists()


def test_imported_preferences_are_no_ones_own_and_on_no_board() -> None:
    load(PLAIN)
    assert exported(owner_id=1) == exported(board="main") == exported(source="human") == []
    assert len(exported()) == 1


def test_the_command_says_what_came(tmp_path: Path) -> None:
    path, out = tmp_path / "pairs.jsonl", io.StringIO()
    path.write_bytes(jsonl(PLAIN, PLAIN))
    call_command("preferences_import", str(path), prompt_set="elsewhere", stdout=out)
    assert "2 pairs" in out.getvalue()
    assert "1 new, with 1 new prompts" in out.getvalue()


@pytest.mark.parametrize(("name", "pairs", "single"), [("dpo", 300, 0), ("kto", 0, 300)])
def test_public_files_come_in_whole(shared_data: Path, name: str, pairs: int, single: int) -> None:
    with (shared_data / "preferences" / f"llamafactory_{name}_en_demo.json").open("rb") as file:
        done = preferences_import(file=file, prompt_set=name)
    assert (done.rows, done.pairs, done.single) == (300, pairs, single)
    assert done.new == ImportedPreference.objects.count()
