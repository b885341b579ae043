"""The secret key of an installation: made once, kept beside the data, readable by its owner only."""

import os
import secrets
from pathlib import Path


def secret_key_in(folder: Path) -> str:
    """Return the key kept in `folder`, made at the first call; two processes that race agree on one."""
    path = folder / "secret_key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        key = secrets.token_urlsafe(50)
        file.write(key)
    return key
