"""How coroutines reach the database."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")


def in_database_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a coroutine call a function that uses the database.

    Like Channels' `database_sync_to_async`, but the thread keeps its connection: opening one for each call costs more
    than most calls. A connection that broke is dropped first.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for connection in connections.all(initialized_only=True):
            if connection.errors_occurred and not connection.in_atomic_block and not connection.is_usable():
                connection.close()
        return function(*args, **kwargs)

    return sync_to_async(call)
