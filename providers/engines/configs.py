"""Finds a model's config.json: in a folder, among the models we know by name, or among those that were downloaded."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from providers.engines.architecture import Architecture, UnknownArchitecture, architecture_read

CONFIG_BYTES = 10_000_000  # the largest is a few hundred thousand; what is larger is another file
SIZE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)b", re.IGNORECASE)
KNOWN = Path(__file__).with_name("known.yaml")


class NoConfig(ValueError):
    """There is no config.json of that model here; the message says what to do."""


def architecture_of(name: str, folders: tuple[Path, ...] = (), *, can_read_paths: bool = True) -> Architecture:
    """Of a folder, a config.json, a known name ("llama-3.2-1b"), a hub id, or a size in billions ("7b").

    `folders` are where models were downloaded to; without `can_read_paths` nothing outside of them is looked at.
    Raises NoConfig and UnknownArchitecture, both ValueErrors.
    """
    if billions := _billions(name):
        return Architecture.of_size(billions)
    config = _from_files(_places(name, folders, can_read_paths)) or known().get(name) or known().get(name.lower())
    if config is None:
        names = ", ".join(sorted(one for one in known() if "/" not in one))
        raise NoConfig(
            f"{name} is not here: give a folder with its config.json, a size such as 7b, download it with "
            f"`manage.py models_download {name}`, or name one of {names}"
        )
    return architecture_read(config)


def model_place(name: str, folders: tuple[Path, ...] = (), *, can_read_paths: bool = True) -> str:
    """What vLLM is told to load: the folder of a model that is here, or else a hub id. Raises NoConfig for a size."""
    if _billions(name):
        raise NoConfig(f"{name} is a size and no model: choose one to run it")
    for place in _places(name, folders, can_read_paths):
        folder = place if place.is_dir() else place.parent
        if place.exists() and (folder / "config.json").is_file():
            return str(folder.resolve())
    row = known().get(name) or known().get(name.lower())
    return str(row["hub_id"]) if row else name


def _billions(name: str) -> float:
    """Of a size such as "7b" or "0.5B"; 0 for what is none."""
    found = SIZE.fullmatch(name)
    return float(found[1]) if found else 0.0


def _places(name: str, folders: tuple[Path, ...], can_read_paths: bool) -> tuple[Path, ...]:
    downloads = tuple(folder / name.replace("/", "--") for folder in folders if name not in (".", ".."))
    return (Path(name), *downloads) if can_read_paths else downloads


@cache
def known() -> Mapping[str, Mapping[str, Any]]:
    """Configs by short name and by hub id."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
    return rows | {row["hub_id"]: row for row in rows.values()}


def _from_files(places: tuple[Path, ...]) -> Mapping[str, Any] | None:
    for place in places:
        path = place
        try:
            path = place / "config.json" if place.is_dir() else place
            if not path.is_file():
                continue
            text = path.read_text(encoding="utf-8") if path.stat().st_size <= CONFIG_BYTES else ""
            config = json.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise UnknownArchitecture(f"{path} cannot be read: {error}") from None
        if not isinstance(config, dict):
            raise UnknownArchitecture(f"{path} is not a JSON object")
        return config
    return None
