"""The queue in files: a message is seen whole or not at all, and stays where nobody has taken it."""

import os
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection

from arena_project import celery

MESSAGE = {"body": "x" * 5000, "headers": {"task": "t"}}


@pytest.fixture
def channel(tmp_path: Path) -> Any:
    assert celery.app  # which says what filesystem:// means
    options = {name: str(tmp_path) for name in ("data_folder_in", "data_folder_out", "control_folder")}
    return Connection("filesystem://localhost", transport_options=options).channel()


def test_a_worker_that_looks_while_a_message_is_written_finds_none(
    channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    replace = os.replace

    def looks(part: str, whole: str) -> None:
        with pytest.raises(Empty):
            channel._get("tourney")
        seen.append(Path(part).stat().st_size)
        replace(part, whole)

    monkeypatch.setattr(os, "replace", looks)
    channel._put("tourney", MESSAGE)
    assert seen == [pytest.approx(5000, abs=200)]
    assert channel._get("tourney") == MESSAGE
    assert channel._size("tourney") == 0


def test_what_a_killed_writer_left_is_not_taken_for_a_message(channel: Any, tmp_path: Path) -> None:
    (tmp_path / ".1_torn.tourney.msg.part").write_text('{"half')  # its writer was killed
    for number in range(5):
        channel._put("tourney", {"number": number})
    assert sorted(channel._get("tourney")["number"] for _ in range(5)) == list(range(5))
    with pytest.raises(Empty):
        channel._get("tourney")
