"""What all WebSockets share: they belong to a session, and close when it is over."""

import asyncio
import logging
from typing import Any, cast
from uuid import uuid4

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from accounts.models import User
from accounts.sessions import group_of_session, session_lives
from common import metrics
from common.aio import spawn
from common.database import in_database_thread
from common.errors import TooMany
from common.limits import hit
from common.logs import bind

logger = logging.getLogger(__name__)

# Logging out is said at once; how else a session ends (it expires, the password changes) is looked up.
SESSION_CHECK_SECONDS = 60.0
CLOSE_LOGGED_OUT = 4401
CLOSE_NOT_YOURS = 4404
CLOSE_TOO_MANY = 4429


class SessionConsumer(AsyncWebsocketConsumer):
    """A window of somebody who is logged in. Call `enter` first when it connects, and `leave` when it disconnects."""

    # A cancellation that comes while the database is asked is lost; the watch must end all the same.
    has_left = False
    is_counted = False

    async def enter(self) -> bool:
        """Accept it, so that the page learns why it is closed: a browser hides the reason of a refused handshake.
        False where nobody is logged in; then it has been closed."""
        self.user = cast(User, self.scope["user"])
        self.session_key: str = self.scope["session"].session_key or ""
        self.watch: asyncio.Task[None] | None = None
        places = {name.removesuffix("_id"): str(value) for name, value in self.scope["url_route"]["kwargs"].items()}
        bind(request=uuid4().hex[:16], user=str(self.user.pk or ""), **places)
        await self.accept()
        self.is_counted = True
        metrics.sockets_open.inc()
        if not self.user or self.user.is_anonymous:
            await self.close(code=CLOSE_LOGGED_OUT)
            return False
        try:  # the cache may be over the network
            await in_database_thread(hit)(f"sockets:{self.user.pk}", limit=settings.SOCKETS_PER_MINUTE, seconds=60)
        except TooMany:
            await self.close(code=CLOSE_TOO_MANY)
            return False
        await self.channel_layer.group_add(group_of_session(self.session_key), self.channel_name)
        self.watch = spawn(self._watch_session())
        return True

    async def leave(self) -> None:
        self.has_left = True
        if self.is_counted:
            self.is_counted = False
            metrics.sockets_open.dec()
        if self.watch:
            self.watch.cancel()
            await self.channel_layer.group_discard(group_of_session(self.session_key), self.channel_name)

    async def dispatch(self, message: Any) -> None:
        """Without closing the database connection first, as Channels would: see `in_database_thread`."""
        await getattr(self, get_handler_name(message))(message)

    async def session_over(self, message: dict[str, Any]) -> None:
        """The person has logged out."""
        await self.close(code=CLOSE_LOGGED_OUT)

    async def _watch_session(self) -> None:
        is_alive = True
        while is_alive and not self.has_left:
            await asyncio.sleep(SESSION_CHECK_SECONDS)
            try:
                is_alive = await in_database_thread(session_lives)(session_key=self.session_key, user_id=self.user.pk)
            except Exception:  # the next look may find the database again
                logger.exception("A session could not be looked up")
        if not self.has_left:
            await self.close(code=CLOSE_LOGGED_OUT)
