"""The secrets of an installation: made once, kept beside the data, readable by their owner only."""

import os
import secrets
from pathlib import Path


def secret_key_in(folder: Path, name: str = "secret_key") -> str:
    """Return the key kept in `folder` as `name`, made at the first call; two processes that race agree on one."""
    path = folder / name
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        key = secrets.token_urlsafe(50)
        file.write(key)
    return key
