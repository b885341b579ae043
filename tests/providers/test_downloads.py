"""Models that are brought here: pinned, checked, gone on with, and never half a model."""

import json
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from huggingface_hub import constants
from pytest_django import Settings

from providers.engines import downloads
from providers.engines.configs import architecture_of, known
from providers.engines.downloads import DownloadFailed, Source, broken_in, download, manifest_of
from tests.fakes.hub import COMMIT, Hub

FILES = {
    "config.json": json.dumps(known()["smollm2-135m"]).encode(),
    "model.safetensors": bytes(range(256)) * 2000,
    "pytorch_model.bin": b"a pickle",
    "onnx/model.onnx": b"for another program",
    "README.md": b"# A model",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub({"org/model": dict(FILES)}) as hub:
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"  # HF_ENDPOINT was read at the import
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 65_536)
        yield hub


def fetched(folder: Path, revision: str = "main", *, is_offline: bool = False) -> Path:
    return download(Source("org/model", revision), folder, lambda line: None, is_offline=is_offline)


def test_a_model_comes_whole_with_its_commit_and_without_what_nobody_reads(hub: Hub, tmp_path: Path) -> None:
    folder = fetched(tmp_path)
    assert folder == tmp_path / "org--model"
    manifest = manifest_of(folder)
    assert manifest
    assert manifest.commit == COMMIT
    assert {mark.path for mark in manifest.files} == {"config.json", "model.safetensors", "README.md"}
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert not list(broken_in(folder))
    assert architecture_of("org/model", (tmp_path,)) == architecture_of("smollm2-135m")


def test_what_is_here_at_the_pinned_commit_asks_no_hub(hub: Hub, tmp_path: Path) -> None:
    fetched(tmp_path)
    asked = len(hub.asked)
    fetched(tmp_path, COMMIT)
    fetched(tmp_path, is_offline=True)
    assert len(hub.asked) == asked
    with pytest.raises(DownloadFailed, match="may not be asked"):
        fetched(tmp_path, "d" * 40, is_offline=True)


def test_a_transfer_that_was_cut_off_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    hub.cut["model.safetensors"] = 2
    with pytest.raises(DownloadFailed, match="Try again to go on"):
        fetched(tmp_path)
    assert manifest_of(tmp_path / "org--model") is None, "half a model is none"
    assert (tmp_path / "org--model" / "model.safetensors.part").stat().st_size > 0
    hub.cut.clear()
    before = hub.sent["model.safetensors"]
    folder = fetched(tmp_path)
    assert hub.sent["model.safetensors"] - before < len(FILES["model.safetensors"])
    assert not list(broken_in(folder))


def test_other_bytes_than_promised_are_fetched_again_and_never_kept(hub: Hub, tmp_path: Path) -> None:
    hub.rubbish["model.safetensors"] = 1
    assert not list(broken_in(fetched(tmp_path)))
    shutil.rmtree(tmp_path / "org--model")
    hub.rubbish["config.json"] = 2
    with pytest.raises(DownloadFailed, match="another checksum"):
        fetched(tmp_path)
    assert not (tmp_path / "org--model" / "config.json").exists()


def test_what_was_changed_here_is_found_and_mended(hub: Hub, tmp_path: Path) -> None:
    folder = fetched(tmp_path)
    (folder / "model.safetensors").write_bytes(b"!" * len(FILES["model.safetensors"]))
    (folder / "README.md").unlink()
    assert set(broken_in(folder)) == {"model.safetensors", "README.md"}
    assert not list(broken_in(fetched(tmp_path)))


def test_a_new_commit_leaves_nothing_of_the_old_one_and_touches_nothing_elsewhere(hub: Hub, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    models = tmp_path / "models"
    folder = fetched(models)
    (folder / "old").mkdir()
    for name in ("model-00001-of-00002.safetensors", "old/weights.safetensors", "model.safetensors.part"):
        (folder / name).write_text("of the commit before")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "linked.txt").symlink_to(elsewhere / "mine.txt")
    fetched(models)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    assert there == {"config.json", "model.safetensors", "README.md", "tourney.json"}
    assert not (folder / "linked").is_symlink()
    assert (elsewhere / "mine.txt").read_text() == "mine"
    folder.rename(elsewhere / "model")
    folder.symlink_to(elsewhere / "model")
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(DownloadFailed, match=r"mine\.txt is not of this commit"):
        fetched(models)
    assert (elsewhere / "model" / "mine.txt").exists()
    assert manifest_of(folder) is None


def test_a_beginning_that_is_longer_than_the_file_is_thrown_away(hub: Hub, tmp_path: Path) -> None:
    part = tmp_path / "org--model" / "model.safetensors.part"
    part.parent.mkdir()
    part.write_bytes(b"?" * (len(FILES["model.safetensors"]) + 1))
    assert not list(broken_in(fetched(tmp_path)))


def test_a_disk_that_is_too_small_is_said_before_the_first_byte(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = SimpleNamespace(free=downloads.DISK_KEPT_FREE)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    with pytest.raises(DownloadFailed, match=r"org/model needs 0\.0 GB more, and .* has 2\.1 GB free"):
        fetched(tmp_path)
    assert not hub.sent


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("org/none", "has no model org/none"),
        ("org/model@v9", "has no revision v9"),
        ("org/gated", "only for those who accepted its terms"),
        ("org/empty", "has no config.json"),
        ("org/evil", "a file outside of the model"),
        ("just-a-name", "is no hub id"),
        ("../../etc", "is no hub id"),
    ],
)
def test_what_cannot_come_is_said_in_words(hub: Hub, tmp_path: Path, settings: Settings, text: str, words: str) -> None:
    settings.MODELS = tmp_path
    hub.models |= {"org/empty": {"a.txt": b"a"}, "org/evil": {"../../evil.txt": b"a", "config.json": b"{}"}}
    hub.gated.add("org/gated")
    with pytest.raises(CommandError, match=words):
        call_command("models_download", text)
    assert not list(tmp_path.rglob("evil.txt"))


def test_the_command_brings_lists_and_verifies(hub: Hub, tmp_path: Path, settings: Settings) -> None:
    settings.MODELS = tmp_path
    out = StringIO()
    call_command("models_download", f"org/model@{COMMIT}", stdout=out)
    call_command("models_download", stdout=out)
    call_command("models_download", "--verify", stdout=out)
    assert f"org/model@{COMMIT}" in out.getvalue()
    assert "1 models are whole" in out.getvalue()
    (tmp_path / "org--model" / "config.json").write_text("{}")
    with pytest.raises(CommandError, match=r"org--model/config\.json"):
        call_command("models_download", "--verify")
