"""What all WebSockets share: they belong to a session, and close when it is over; what their feed says goes out in
order, and frames of the page are heard at a person's pace."""

import asyncio
import logging
from typing import Any, Protocol, cast
from uuid import uuid4

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.sessions import group_of_session, session_lives
from common import metrics
from common.aio import spawn
from common.database import in_database_thread
from common.errors import NotFound, TooMany, TourneyError
from common.frames import FrameOut, Refused, encode
from common.limits import TokenBucket, hit
from common.logs import bind
from common.outages import outage_of

logger = logging.getLogger(__name__)

# Logging out is said at once; how else a session ends (it expires, the password changes) is looked up.
SESSION_CHECK_SECONDS = 60.0
CLOSE_LOGGED_OUT = 4401
CLOSE_NOT_YOURS = 4404
CLOSE_TOO_MANY = 4429
FRAMES_AT_ONCE = 20
FRAMES_A_SECOND = 5.0


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


class Feed(Protocol):
    """One viewer's view of something that changes."""

    async def open(self) -> None:
        """Send the whole state and follow it. Raises NotFound."""

    async def close(self) -> None: ...


class FeedConsumer(SessionConsumer):
    """A window on one thing that changes. It never streams inside `receive`: its feed follows what is live and puts
    frames. Whoever connects sets `feed` and `group`, to which others say that something has changed."""

    feed: Feed
    group: str

    async def connect(self) -> None:
        self.bucket = TokenBucket(capacity=FRAMES_AT_ONCE, rate=FRAMES_A_SECOND)
        self.outbox: asyncio.Queue[FrameOut] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        if not await self.enter():
            return
        await self.channel_layer.group_add(self.group, self.channel_name)
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)
            return
        self.sender = asyncio.create_task(self._send_all())

    async def disconnect(self, code: int) -> None:
        if self.sender:
            self.sender.cancel()
        await self.feed.close()
        await self.channel_layer.group_discard(self.group, self.channel_name)
        await self.leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.sender is None:  # being closed: what it shows is not this person's
            return
        try:
            if not self.bucket.take():
                raise TooMany
            await self.hear(text_data or "")
        except TourneyError as error:
            self.put(Refused(error.code, str(error)))
        except Exception as error:  # a defect or a lost database must not cost the reader the stream of answers
            logger.exception("A frame on %s failed", self.group)
            if outage := outage_of(error):
                self.put(Refused(outage.code, str(outage)))
            else:
                self.put(Refused("defect", _("Something broke on our side. Nothing was lost; try again.")))

    async def hear(self, text: str) -> None:
        """Do what a frame of the page asks for. Raises TourneyError."""
        raise NotImplementedError

    def put(self, frame: FrameOut) -> None:
        self.outbox.put_nowait(frame)

    async def _send_all(self) -> None:
        while True:
            frame = await self.outbox.get()
            await self.send(text_data=encode(frame))
