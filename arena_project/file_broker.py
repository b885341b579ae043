"""Celery's queue in files, for one machine without Redis: kombu's, but that a message is there whole or not at all.

Kombu makes a message's file first and writes into it then; a worker that looks in between takes an empty file, ends,
and the message is lost.
"""

import os
from time import monotonic_ns
from typing import Any
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override] # as kombu calls it
        # The order of names is the order of messages, as kombu has it.
        name = f"{monotonic_ns() // 1_000_000}_{uuid4()}.{queue}.msg"
        part, whole = (os.path.join(self.data_folder_out, each) for each in (f".{name}.part", name))
        try:
            with open(part, "w") as file:
                file.write(dumps(payload))
            os.replace(part, whole)
        except OSError as error:
            raise ChannelError(f"The queue takes no message: {error}") from error


class Transport(filesystem.Transport):
    Channel = Channel


def file_broker_use() -> None:
    """Have addresses that begin with filesystem:// mean this one."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"
