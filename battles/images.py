"""Images beside prompts: uploaded first, then sent with a turn, and forgotten where nobody sends them. Called through
the services."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import IO
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from battles.errors import ImageSent, ImagesInvalid, ImageTooLarge, TooManyUnsent
from battles.models import Image, Turn
from common.errors import NotFound, StorageFailed
from common.images import image_clean
from common.limits import hit

log = logging.getLogger(__name__)

IMAGES_A_TURN = 4
# Drafts in a few windows, and a program that uploads ahead; more is somebody who uses the server as a store.
UNSENT_MAX = 40
UNSENT_FOR = timedelta(days=1)
PURGED_EVERY = timedelta(hours=1)


def image_bytes_max() -> int:
    """The largest file that may be uploaded."""
    return int(settings.IMAGE_MAX_MB) * 1024 * 1024


def image_add(*, owner: User, file: IO[bytes]) -> Image:
    """Store an uploaded image, resized and without metadata, until it is sent.

    Raises ImageInvalid, ImageTooLarge, TooManyUnsent, TooMany, StorageFailed.
    """
    hit(f"images:{owner.pk}", limit=settings.IMAGES_PER_HOUR, seconds=3600)
    if Image.objects.filter(owner=owner, turn=None).count() >= UNSENT_MAX:
        raise TooManyUnsent
    data = file.read(image_bytes_max() + 1)
    if len(data) > image_bytes_max():
        raise ImageTooLarge(f"The image is larger than {settings.IMAGE_MAX_MB} MB. Please make it smaller.")
    clean = image_clean(data)
    image = Image(owner=owner, media_type=clean.media_type, width=clean.width, height=clean.height)
    try:
        image.file.save(f"{image.id}{clean.suffix}", ContentFile(clean.data), save=False)
    except OSError as error:
        log.error("an image could not be stored: %r", error)
        raise StorageFailed from error
    try:
        image.save()
    except Exception:  # without its row nobody would ever delete the file
        image.file.delete(save=False)
        raise
    _purge_now_and_then()
    return image


def image_remove(*, image_id: UUID, owner: User) -> None:
    """Forget an image that was not sent. Raises NotFound, ImageSent."""
    with transaction.atomic():
        image = Image.objects.select_for_update().filter(pk=image_id, owner=owner).first()
        if image is None:
            raise NotFound
        if image.turn_id:
            raise ImageSent
        image.delete()


def images_check(ids: Sequence[UUID]) -> None:
    """Raises ImagesInvalid for more than a turn may have, or the same one twice."""
    if len(ids) > IMAGES_A_TURN:
        raise ImagesInvalid(f"At most {IMAGES_A_TURN} images go with one prompt.")
    if len(set(ids)) != len(ids):
        raise ImagesInvalid("The same image was sent twice.")


def images_send(*, turn: Turn, owner: User, ids: Sequence[UUID]) -> None:
    """Put the person's own unsent images with a turn, in this order. Part of a transaction. Raises ImagesInvalid."""
    for position, image_id in enumerate(ids):
        unsent = Image.objects.filter(pk=image_id, owner=owner, turn=None)
        if not unsent.update(turn=turn, position=position):
            raise ImagesInvalid("One of the images is not there any more. Take it out and add it again.")


def images_purge() -> int:
    """Delete images that nobody has sent for a day, with their files; return how many."""
    stale = Image.objects.filter(turn=None, created_at__lt=timezone.now() - UNSENT_FOR)
    return stale.delete()[0]


def file_delete(*, instance: Image, **signal: object) -> None:
    """A row that goes takes its file along, however it goes: with its battle, its owner, or by the purge."""
    transaction.on_commit(lambda: instance.file.delete(save=False))


def _purge_now_and_then() -> None:
    """Without a clock of its own Tourney cleans up where the work is made. Never fails."""
    from battles.tasks import images_purge as task  # the task imports this module

    if not cache.add("images-purge", 1, timeout=PURGED_EVERY.total_seconds()):
        return
    try:
        task.apply_async(retry=False)
    except Exception as error:  # whatever a broker raises when it is down
        log.warning("unsent images wait for the next purge: %r", error)
