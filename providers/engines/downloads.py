"""Downloads models from a hub into folders: pinned, resumable, checked, and never half a model.

A folder is whole when it holds our manifest (tourney.json), which is written last: the commit and a checksum of every
file. No Django. The hub is https://huggingface.co or what HF_ENDPOINT says; HF_TOKEN opens gated models.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

MANIFEST = "tourney.json"
# The same weights once more, for other programs.
NEEDLESS = ("*.gguf", "*.onnx", "*.h5", "*.msgpack", "*.tflite", "onnx/*", "original/*", "openvino/*", "coreml/*")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")  # only where there are no safetensors
DISK_KEPT_FREE = 2 * 2**30  # bytes that a download leaves to others
CHUNK_BYTES = 2**22


class DownloadFailed(Exception):
    """The message says why, in words."""


class FileMark(msgspec.Struct, frozen=True):
    """`sha256` is that of the content; `git` the blob id that small files have instead."""

    path: str
    size: int
    sha256: str = ""
    git: str = ""


class Manifest(msgspec.Struct, frozen=True):
    hub_id: str
    commit: str
    files: list[FileMark]


@dataclass(frozen=True)
class Source:
    """A hub id and a branch, tag or commit."""

    hub_id: str
    revision: str = "main"

    @classmethod
    def read(cls, text: str) -> "Source":
        """Of "organisation/name" or "organisation/name@revision". Raises DownloadFailed."""
        hub_id, _, revision = text.partition("@")
        parts = hub_id.split("/")
        if len(parts) != 2 or not all(parts) or any(part.startswith((".", "-")) for part in parts):
            raise DownloadFailed(f"{text} is no hub id: write organisation/name or organisation/name@revision.")
        return cls(hub_id, revision or "main")

    def folder_in(self, models: Path) -> Path:
        return models / self.hub_id.replace("/", "--")


def download(source: Source, models: Path, say: Callable[[str], None], *, is_offline: bool = False) -> Path:
    """Bring the model here, or find it here; return its folder. What was there of it already is not fetched again.

    Raises DownloadFailed; what was fetched until then stays, and the next try goes on with it.
    """
    folder = source.folder_in(models)
    manifest = manifest_of(folder)
    if manifest and source.revision in (manifest.commit, "main") and (is_offline or source.revision == manifest.commit):
        say(f"{source.hub_id} is here, at {manifest.commit[:12]}.")
        return folder
    if is_offline:
        raise DownloadFailed(f"{source.hub_id} is not here at {source.revision}, and the hub may not be asked.")
    wanted = _listed(source)
    missing = [mark for mark in wanted.files if not _is_there(folder / mark.path, mark)]
    _check_disk(models, sum(mark.size for mark in missing), source)
    (folder / MANIFEST).unlink(missing_ok=True)  # until it is whole again
    size = sum(mark.size for mark in wanted.files) / 1e9
    say(f"{source.hub_id} at {wanted.commit[:12]}: {len(missing)} of {len(wanted.files)} files, {size:.2f} GB in all.")
    for mark in missing:
        _fetch(wanted, mark, folder, say)
    for mark in wanted.files:
        if not is_whole(folder / mark.path, mark):  # it was here before, and had the right size
            _fetch(wanted, mark, folder, say)
    for path in _strangers(folder, [mark.path for mark in wanted.files]):
        if folder.is_symlink():  # it may be a folder of somebody's own
            raise DownloadFailed(f"{path} is not of this commit. Delete it and try again: links are not followed.")
        say(f"  {path.relative_to(folder)} is not of this commit, and is deleted.")
        path.unlink()
    draft = folder / f"{MANIFEST}.draft"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(wanted)))
    draft.replace(folder / MANIFEST)
    return folder


def manifest_of(folder: Path) -> Manifest | None:
    """Of a whole model; None for anything else."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None


def broken_in(folder: Path) -> Iterator[str]:
    """Files that are missing or not what was downloaded; reads every byte."""
    manifest = manifest_of(folder)
    if manifest is None:
        yield MANIFEST
        return
    for mark in manifest.files:
        if not is_whole(folder / mark.path, mark):
            yield mark.path


def is_whole(path: Path, mark: FileMark) -> bool:
    """Whether the file is there with the right bytes."""
    if not _is_there(path, mark):
        return False
    digest = hashlib.sha256() if mark.sha256 else hashlib.sha1(b"blob %d\0" % mark.size)  # as git counts a blob
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == (mark.sha256 or mark.git)


def _is_there(path: Path, mark: FileMark) -> bool:
    return path.is_file() and path.stat().st_size == mark.size


def _listed(source: Source) -> Manifest:
    """What the hub has at the revision, without what vLLM does not read."""
    from huggingface_hub import HfApi, errors  # slow to import, and needed only here

    try:
        info = HfApi().model_info(source.hub_id, revision=source.revision, files_metadata=True)
    except errors.GatedRepoError:
        raise DownloadFailed(
            f"{source.hub_id} is only for those who accepted its terms: accept them at the hub, and set HF_TOKEN."
        ) from None
    except errors.RevisionNotFoundError:
        raise DownloadFailed(f"{source.hub_id} has no revision {source.revision}.") from None
    except errors.RepositoryNotFoundError:
        raise DownloadFailed(f"The hub has no model {source.hub_id}, or not for this HF_TOKEN.") from None
    except Exception as error:  # whatever its HTTP library raises
        raise DownloadFailed(f"The hub did not answer: {error}") from None
    marks = [_mark(one) for one in info.siblings or []]
    has_safetensors = any(mark.path.endswith(".safetensors") for mark in marks)
    unwanted = NEEDLESS + (PICKLES if has_safetensors else ())
    files = [mark for mark in marks if not any(Path(mark.path).match(pattern) for pattern in unwanted)]
    if not any(mark.path == "config.json" for mark in files):
        raise DownloadFailed(f"{source.hub_id} has no config.json: it is not a model that vLLM can run.")
    return Manifest(source.hub_id, str(info.sha), files)


def _strangers(folder: Path, wanted: Collection[str]) -> list[Path]:
    """What lies in the folder and is not of the model, as weights of another commit, which vLLM would load, too. Links
    are not followed: one that leads elsewhere is a stranger itself, and what is behind it is not."""
    kept = {*wanted, *(parent.as_posix() for path in wanted for parent in Path(path).parents)}
    found = []
    for where, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        paths = [Path(where) / name for name in (*links, *files)]
        found += [path for path in paths if path.relative_to(folder).as_posix() not in kept]
    return found


def _mark(file: Any) -> FileMark:
    path = str(file.rfilename)
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise DownloadFailed(f"The hub named a file outside of the model: {path}")
    lfs = file.lfs
    return FileMark(
        path, int(file.size or 0), sha256=str(lfs.sha256) if lfs else "", git="" if lfs else str(file.blob_id)
    )


def _check_disk(models: Path, size: int, source: Source) -> None:
    models.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(models).free
    if size + DISK_KEPT_FREE > free:
        raise DownloadFailed(
            f"{source.hub_id} needs {size / 1e9:.1f} GB more, and {models} has {free / 1e9:.1f} GB free, of which "
            f"{DISK_KEPT_FREE / 1e9:.1f} GB stay free."
        )


def _fetch(wanted: Manifest, mark: FileMark, folder: Path, say: Callable[[str], None]) -> None:
    """One file, checked. Twice, for what is broken on the way may come whole the next time."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get  # hf_hub_download begins a file anew in every run
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined] # it is, lazily

    say(f"  {mark.path}, {mark.size / 1e6:.1f} MB")
    path = folder / mark.path
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    url = hf_hub_url(wanted.hub_id, mark.path, revision=wanted.commit)
    if part.is_file() and part.stat().st_size > mark.size:  # begun of another commit, whose file was longer
        part.unlink()
    for _ in range(2):
        try:
            with part.open("ab") as file:
                here = file.tell()
                http_get(url, file, resume_size=here, headers=build_hf_headers(), expected_size=mark.size)
        except OSError as error:
            words = "the disk is full" if error.errno == errno.ENOSPC else str(error)
            raise DownloadFailed(f"{mark.path} did not come: {words}. Try again to go on.") from None
        except Exception as error:  # whatever its HTTP library raises
            raise DownloadFailed(f"{mark.path} did not come: {error}. Try again to go on.") from None
        if is_whole(part, mark):
            part.replace(path)
            return
        part.unlink()
    raise DownloadFailed(f"{mark.path} came twice with another checksum than the hub names; it is not kept.")


def listed(models: Path) -> Sequence[tuple[Path, Manifest]]:
    """Every whole model that is here."""
    folders = sorted(models.iterdir()) if models.is_dir() else []
    return [(folder, manifest) for folder in folders if (manifest := manifest_of(folder))]
