"""Finds a model's config.json: in a folder, among the models we know by name, or among those that were downloaded."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from providers.engines.architecture import Architecture, UnknownArchitecture, architecture_read

KNOWN = Path(__file__).with_name("known.yaml")


class NoConfig(ValueError):
    """There is no config.json of that model here; the message says what to do."""


def architecture_of(name: str, folders: tuple[Path, ...] = ()) -> Architecture:
    """Of a folder, a config.json, a known name ("llama-3.2-1b"), a hub id, or a size in billions ("7b").

    `folders` are where models were downloaded to. Raises NoConfig and UnknownArchitecture, both ValueErrors.
    """
    billions = name.lower().removesuffix("b")
    if name.lower().endswith("b") and billions.replace(".", "", 1).isdigit():
        return Architecture.of_size(float(billions))
    config = _from_files(name, folders) or known().get(name) or known().get(name.lower())
    if config is None:
        names = ", ".join(sorted(one for one in known() if "/" not in one))
        raise NoConfig(
            f"{name} is not here: give a folder with its config.json, a size such as 7b, download it with "
            f"`manage.py models_download {name}`, or name one of {names}"
        )
    return architecture_read(config)


@cache
def known() -> Mapping[str, Mapping[str, Any]]:
    """Configs by short name and by hub id."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
    return rows | {row["hub_id"]: row for row in rows.values()}


def _from_files(name: str, folders: tuple[Path, ...]) -> Mapping[str, Any] | None:
    for place in (Path(name), *(folder / name.replace("/", "--") for folder in folders)):
        path = place / "config.json" if place.is_dir() else place
        if path.is_file():
            try:
                config = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise UnknownArchitecture(f"{path} cannot be read: {error}") from None
            if not isinstance(config, dict):
                raise UnknownArchitecture(f"{path} is not a JSON object")
            return config
    return None
