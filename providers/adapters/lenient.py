"""Reads an event that a strict decoder refused: half of a surrogate pair, a broken character, or a count of another
type is worth a loss, but not the whole answer."""

import json
from typing import TypeVar

import msgspec

from providers.adapters.base import ErrorKind, ProviderError

T = TypeVar("T")


def decoded(data: bytes, type: type[T], droppable: tuple[str, ...]) -> T:
    """`data` as a `type`; without the `droppable` fields where it is none with them. Raises ProviderError for what is
    none at all."""
    try:
        found = json.loads(data.decode(errors="replace"))
        if not isinstance(found, dict):
            raise TypeError
        # What is half a pair becomes U+FFFD.
        text = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found = json.loads(text)
        try:
            return msgspec.convert(found, type, strict=False)
        except msgspec.ValidationError:
            kept = {name: value for name, value in found.items() if name not in droppable}
            return msgspec.convert(kept, type, strict=False)
    except (ValueError, TypeError, RecursionError, msgspec.ValidationError) as error:
        raise ProviderError(ErrorKind.UPSTREAM, f"not an event: {data[:200]!r}") from error
