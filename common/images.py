"""Makes an uploaded file into an image that may be stored, shown and sent on: one of four formats, not too large, and
nothing left of the file itself but its pixels."""

import io
import logging
import threading
from dataclasses import dataclass, field

from PIL import Image, ImageOps, UnidentifiedImageError

from common.errors import TourneyError

log = logging.getLogger(__name__)

# Pillow reads some forty formats; each further parser is one more to attack.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# The largest photographs of today's telephones have 48 to 50 million pixels; decoded, these are 200 MB.
PIXELS_MAX = 51_000_000
# What models look at: anything longer is made smaller by the service, at the asker's cost.
# Source: https://docs.anthropic.com/en/docs/build-with-claude/vision
LONGEST_SIDE_PIXELS = 1_568
# The strictest service takes 5 MB an image, counted in Base64, which has 4 characters for 3 bytes. Same source.
STORED_MAX_BYTES = 3_600_000
JPEG_QUALITY = 90
TOO_MANY_PIXELS = f"The image has more than {PIXELS_MAX // 1_000_000} million pixels. Please make it smaller."
DAMAGED = "The image is damaged or incomplete. Please save it anew, or send another one."
# Decoding the largest takes some 400 MB for a moment, so only one at a time does.
_decoding = threading.Lock()


class ImageInvalid(TourneyError):
    code = "image_invalid"
    message = "This is not an image that can be used. Please send a JPEG, PNG, WebP or GIF."


@dataclass(frozen=True, slots=True)
class CleanImage:
    """A JPEG or PNG, which every model that sees can read."""

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int

    @property
    def suffix(self) -> str:
        return ".png" if self.media_type == "image/png" else ".jpg"


def image_clean(data: bytes) -> CleanImage:
    """Decode, turn upright, shrink and encode anew; of an animation the first picture.

    What the file is called or calls itself does not matter, and nothing of it survives but pixels: no place, camera,
    comment, colour profile, thumbnail or hidden archive. Photographs become JPEG, everything else PNG unless that is
    too large. Raises ImageInvalid.
    """
    with _decoding:
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
                if opened.width * opened.height > PIXELS_MAX:
                    raise ImageInvalid(TOO_MANY_PIXELS)
                is_photograph = _is_photograph(opened)
                return _encoded(_pixels(opened), is_photograph=is_photograph)
        except ImageInvalid:
            raise
        except UnidentifiedImageError:
            raise ImageInvalid from None
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):  # Pillow's own limit comes first
            raise ImageInvalid(TOO_MANY_PIXELS) from None
        except Exception as error:  # a broken file can fail in any way that its parser knows
            log.info("An uploaded image could not be read: %r", error)
            raise ImageInvalid(DAMAGED) from None


def _is_photograph(image: Image.Image) -> bool:
    """Whether lossy compression loses nothing that was not lost before."""
    return image.format in ("JPEG", "MPO") or (image.format == "WEBP" and not image.has_transparency_data)


def _pixels(image: Image.Image) -> Image.Image:
    """The pixels alone, in a mode that every decoder knows, small enough, and turned as the camera was held."""
    image.draft("RGB", (LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS))  # JPEG decodes to a fraction at once
    image.load()
    plain = image
    if image.mode == "I;16":  # 16 bits a pixel, which `convert` would clip
        plain = image.convert("I").point(lambda grey: grey * (1 / 256))
    mode = "RGBA" if image.has_transparency_data else "L" if plain.mode in ("1", "L", "I") else "RGB"
    if plain.mode != mode:
        plain = plain.convert(mode)
    plain.thumbnail((LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS), Image.Resampling.LANCZOS, reducing_gap=3.0)
    ImageOps.exif_transpose(plain, in_place=True)
    bare = Image.new(plain.mode, plain.size)
    bare.paste(plain)
    return bare


def _encoded(image: Image.Image, *, is_photograph: bool) -> CleanImage:
    if not is_photograph:
        data = _saved(image, "PNG", optimize=False)
        if len(data) <= STORED_MAX_BYTES:
            return CleanImage(data, "image/png", *image.size)
    if image.mode == "RGBA":
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image).convert("RGB")
    return CleanImage(_saved(image, "JPEG", quality=JPEG_QUALITY), "image/jpeg", *image.size)


def _saved(image: Image.Image, kind: str, **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
