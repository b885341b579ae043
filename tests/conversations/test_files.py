"""Conversations as files: saved, read back to the byte, and refused with the place where something is wrong."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from conversations import services
from conversations.errors import FileInvalid
from conversations.files.formats import FORMATS
from conversations.files.importing import conversations_import
from conversations.files.log import SEED_COLUMNS
from conversations.files.shape import conversation_out
from conversations.models import Analysis, Conversation, Turn
from conversations.selectors import conversation_whole
from tests import factories
from tests.conversations import rows

HOSTILE = "=1+1\n# Head\n<script>alert(1)</script>\r\n  שלום 🦊 \\n \u2028 “quoted”, and a comma\t "


def _written(conversation: Conversation, format: str = "json") -> str:
    whole = conversation_whole(conversation_id=conversation.id, viewer=conversation.owner)
    return FORMATS[format].write(whole)


def _messages(text: str) -> str:
    return json.dumps(json.loads(text)["messages"], ensure_ascii=False)


@pytest.mark.django_db
def test_what_is_saved_and_uploaded_again_has_the_same_messages_to_the_byte() -> None:
    row = rows.conversation(lines=[HOSTILE, "Second.", "  Third with spaces  \n"])
    services.conversation_inject(conversation_id=row.id, owner=row.owner, text="Be brief.")
    Turn.objects.filter(conversation=row, position=2).update(status="failed", error_kind="timeout", text="")
    saved = _written(row)
    (again,) = conversations_import(owner=factories.user(), data=saved.encode())
    assert again.id != row.id
    assert _messages(_written(again)) == _messages(saved)
    assert json.loads(_written(again))["agents"] == json.loads(saved)["agents"]
    assert (again.state, again.reason) == ("ended", "imported")


class AnyText(TestCase):
    @settings(max_examples=25)
    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=6))
    def test_any_text_survives(self, lines: list[str]) -> None:
        allowed = [line for line in lines if all(c >= " " or c in "\n\r\t" for c in line)]
        messages = [{"speaker": "ab"[n % 2], "content": line} for n, line in enumerate(["begin", *allowed])]
        owner = factories.user()
        (made,) = conversations_import(owner=owner, data=json.dumps(messages).encode())
        whole = conversation_whole(conversation_id=made.id, viewer=owner)
        assert [one["content"] for one in conversation_out(whole)["messages"]] == ["begin", *allowed]


@pytest.mark.django_db
def test_the_file_has_the_documented_shape() -> None:
    row = rows.conversation()
    analyst = factories.language_model("analyst")
    fields = {"model": analyst, "model_slug": "analyst", "prompt_version": "1", "turns": 2}
    Analysis.objects.create(conversation=row, text="{}", status="finished", **fields)
    file = json.loads(_written(row))
    assert set(file) >= {"id", "metadata", "agents", "messages", "analysis"}
    assert file["metadata"] | {"seed_prompt": "Talk.", "category": "tourney", "total_turns": 2} == file["metadata"]
    assert set(file["agents"]) == {"agent_a", "agent_b"}
    assert file["agents"]["agent_a"]["temperature"] == 0.5
    assert file["analysis"]["model"] == "analyst"


@pytest.mark.django_db
def test_the_log_begins_with_the_columns_of_the_seed() -> None:
    row = rows.conversation(lines=[HOSTILE, "Two"])
    table = list(csv.reader(io.StringIO(_written(row, "csv"))))
    assert tuple(table[0][: len(SEED_COLUMNS)]) == (
        "experiment_id", "turn_id", "scenario", "speaker_model", "responder_model", "content", "latency_ms",
        "input_tokens", "output_tokens", "finish_reason", "is_refusal",
    )  # fmt: skip
    lines = [json.loads(line) for line in _written(row, "jsonl").split("\n") if line]
    assert lines[0]["content"] == HOSTILE
    assert table[1][5] == f"'{HOSTILE}"
    assert (lines[0]["speaker_model"], lines[0]["responder_model"]) == (
        lines[1]["responder_model"],
        lines[1]["speaker_model"],
    )
    assert [line["turn_id"] for line in lines] == [1, 2]


@pytest.mark.django_db
def test_the_transcript_holds_all_that_was_said() -> None:
    text = _written(rows.conversation(lines=["First.", "Second."]), "md")
    assert text.index("> Talk.") < text.index("First.") < text.index("Second.")


def _own(**message: Any) -> bytes:
    return json.dumps({"messages": [{"agent": "agent_a", "content": "Hi.", **message}]}).encode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no JSON"), (b"{", "no JSON"), (b"\xff\xfe", "UTF-8"), (b"[]", "0 messages"), (b"3", "list “messages”"),
        (b"{}", "list “messages”"), (b'{"messages": []}', "0 messages"),
        (b'[{"speaker": "a"}]', "[0]"),
        (b'[{"content": "x"}]', "who speaks is missing"), (b'[{"speaker": "system", "content": "x"}]', "system"),
        (json.dumps([{"speaker": name, "content": "x"} for name in "xyz"]).encode(), "third"),
        (b'[{"speaker": "a", "content": 3}]', "must be text"), (b'[{"speaker": "a", "content": "\\ud800"}]', "broken"),
        (b'[{"speaker": "a", "content": "a\\u0000"}]', "control"), (b'[7]', "[0]"),
        (_own(status="streaming"), "status"),
        (_own(latency_ms=-1), "latency_ms"), (_own(cost="much"), "cost"), (_own(started_at="yesterday"), "started_at"),
        (_own(finish_reason="bored"), "finish_reason"), (_own(sampling=[1]), "sampling"),
        (b'[{"agent": "moderator", "content": "x"}]', "no agent"),
        (b'{"messages": [{"speaker": "a", "content": "x"}]}\n{"messages": 3}', "line 2"),
        (_own(cost="NaN"), "cost"), (b'[{"speaker": "a", "content": "x", "cost": NaN}]', "no JSON"),
        (_own(sampling={"temperature": 0}).replace(b": 0}", b": 1e999}"), "no number that can be kept"),
        (b'{"agents": {"agent_a": {"temperature": 1e300}}, "messages": [{"role": "a", "content": "x"}]}', "from 0 to"),
        (b'[{"role": "tool", "content": "x"}]', "tool"), (b'[{"speaker": "a", "content": null}]', "must be text"),
        (b'[{"speaker": "a", "Content": "x"}]', "“content” is missing"),
        (b'{"speaker": "a", "content": "x"}', "list “messages”"),
        (b'{"agents": 3, "messages": [{"speaker": "a", "content": "x"}]}', "agents"), (b"[" * 100_000, "no JSON"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_place_and_leaves_nothing(data: bytes, says: str) -> None:
    with pytest.raises(FileInvalid) as refused:
        conversations_import(owner=factories.user(), data=data)
    assert says in str(refused.value)
    assert not Conversation.objects.exists()


@pytest.mark.django_db
def test_dialogues_of_speaker_and_content_come_in(shared_data: Path) -> None:
    data = (shared_data / "conversations" / "botchat.jsonl").read_bytes()
    made = conversations_import(owner=factories.user(), data=data)
    assert len(made) == 21
    lines = [json.loads(line) for line in data.decode().splitlines()]
    for row, line in zip(made, lines, strict=True):
        assert list(row.turns.values_list("text", flat=True)) == [turn["content"] for turn in line["turns"]]
        assert row.category == line.get("category", "imported")


def _bytes_of_messages(file: str) -> str:
    """The messages as they are written in the file, character by character."""
    return file[file.index('  "messages": [') : file.index('  "analysis":')]


@pytest.mark.django_db
def test_saved_downloaded_and_uploaded_messages_are_the_same_byte_for_byte(api_client: Any) -> None:
    """Through the API, twice around, with every column of a turn set."""
    row = rows.conversation(lines=[HOSTILE, "東京はどうですか。", "ἀλήθεια\n\n- שלום", "🦊"])
    services.conversation_inject(conversation_id=row.id, owner=row.owner, text="Fassen Sie sich kurz.")
    Turn.objects.filter(conversation=row, position=3).update(
        reasoning="Let me think.\r\n", reasoning_tokens=3, is_refusal=True, upstream_model="m-2026", status="stopped",
        finish_reason="length", sampling={"temperature": 0.1, "seed": 2**53}, cost="0.12345678",
    )  # fmt: skip
    caller = api_client(row.owner, ("read", "run", "export"))
    files, id_ = [], str(row.pk)
    for _ in range(3):
        given = caller.get(f"/api/v1/conversations/{id_}/export/?format=json")
        files.append(given.content)
        sent = {"file": io.BytesIO(given.content)}
        (id_,) = caller.post("/api/v1/conversations/import/", sent, format="multipart").json()["conversations"]
    assert len({_bytes_of_messages(file.decode()) for file in files}) == 1
    assert "東京はどうですか。" in files[2].decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("messages", "speakers", "names"),
    [
        ([("user", "Hallo."), ("assistant", "Guten Tag.")], "ab", ["user", "assistant"]),
        ([("艾米", "你好。"), ("老王", "你好。"), ("艾米", "再见。")], "aba", ["艾米", "老王"]),
        ([("Зоя", "Привет."), ("moderator", "Короче."), ("أمل", "مرحبا")], "amb", ["Зоя", "أمل"]),
        ([("agent_b", "I begin."), ("agent_a", "Then I.")], "ba", ["unknown", "unknown"]),
        ([("B", "I begin."), ("A", "Then I."), ("b", "And I.")], "bab", ["unknown", "unknown"]),
        ([("only me", "A monologue."), ("only me", "Still I.")], "aa", ["only me", "unknown"]),
    ],
)
def test_dialogues_of_any_speakers_and_languages_come_in(
    messages: list[tuple[str, str]], speakers: str, names: list[str]
) -> None:
    data = json.dumps([{"speaker": who, "content": said} for who, said in messages], ensure_ascii=False).encode()
    (made,) = conversations_import(owner=factories.user(), data=data)
    assert list(made.turns.values_list("text", flat=True)) == [said for _, said in messages]
    assert "".join(made.turns.values_list("speaker", flat=True)) == speakers
    assert list(made.agents.values_list("model_slug", flat=True)) == names


@pytest.mark.django_db
def test_the_page_and_the_api_take_and_give_files(api_client: Any, client: Client) -> None:
    row = rows.conversation()
    saved = _written(row).encode()
    caller = api_client(row.owner, ("read", "run", "export"))
    answer = caller.post("/api/v1/conversations/import/", {"file": io.BytesIO(saved)}, format="multipart")
    assert answer.status_code == 201, answer.content
    for format in FORMATS:
        address = f"/api/v1/conversations/{answer.json()['conversations'][0]}/export/?format={format}"
        given = caller.get(address)
        assert given.status_code == 200, given.content
        assert f".{format}" in given.headers["Content-Disposition"]
    assert caller.get(address.replace("csv", "exe")).status_code == 400
    client.force_login(row.owner)
    answer = client.post("/conversations/import/", {"file": io.BytesIO(saved)})
    assert answer.status_code == 302
    assert Conversation.objects.count() == 3
    answer = client.post("/conversations/import/", {"file": io.BytesIO(b"{}")}, follow=True)
    assert "Nothing of the file was kept" in answer.content.decode()
