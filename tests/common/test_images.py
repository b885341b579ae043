"""What becomes of an uploaded file: pixels, upright and small enough, and nothing else; or a refusal."""

import contextlib
import io
import os
import struct
import zlib

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from common.images import LONGEST_SIDE_PIXELS, PIXELS_MAX, STORED_MAX_BYTES, CleanImage, ImageInvalid, image_clean

SECRET = b"48.8584 N, 2.2945 E"


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def photograph(width: int = 60, height: int = 30, mode: str = "RGB") -> Image.Image:
    """Red at the left, blue at the right."""
    image = Image.new("RGB", (width, height), "red")
    image.paste((0, 0, 255), (width // 2, 0, width, height))
    return image.convert(mode)


def decoded(clean: CleanImage) -> Image.Image:
    image = Image.open(io.BytesIO(clean.data))
    image.load()
    assert image.size == (clean.width, clean.height)
    assert Image.MIME[str(image.format)] == clean.media_type
    return image


def png_of(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that says it has so many pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(100_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def with_metadata(kind: str) -> bytes:
    """An image that lies on its side, and tells where it was taken in every way that its format has."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter to the right
    exif[0x010E] = SECRET.decode()
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[29] = SECRET.decode()
    options: dict[str, object] = {"exif": exif, "icc_profile": SECRET * 10, "xmp": SECRET}
    if kind == "JPEG":
        options["comment"] = SECRET
    if kind == "PNG":
        text = PngInfo()
        text.add_text("Comment", SECRET.decode())
        text.add_itxt("Location", SECRET.decode())
        options = {"exif": exif, "icc_profile": SECRET * 10, "pnginfo": text}
    return encoded(photograph(), kind, **options)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_metadata_goes_and_the_image_stands_upright(kind: str) -> None:
    given = with_metadata(kind)
    assert kind == "PNG" or SECRET in given
    clean = image_clean(given)
    image = decoded(clean)
    assert image.size == (30, 60)
    assert dict(image.getexif()) == {}
    assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert SECRET not in clean.data
    top, bottom = (image.convert("RGB").getpixel((15, y)) for y in (5, 55))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert top[0] > 200 > 50 > top[2]
    assert bottom[2] > 200 > 50 > bottom[0]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (encoded(photograph(), "JPEG"), "image/jpeg"),
        (encoded(photograph(mode="CMYK"), "JPEG"), "image/jpeg"),
        (encoded(photograph(), "WEBP"), "image/jpeg"),
        (encoded(photograph(mode="RGBA"), "PNG"), "image/png"),
        (encoded(photograph(mode="P"), "PNG"), "image/png"),
        (encoded(photograph(mode="1"), "PNG"), "image/png"),
        (encoded(photograph(mode="P"), "GIF"), "image/png"),
        (encoded(photograph(), "GIF", save_all=True, append_images=[Image.new("RGB", (60, 30), "green")]), "image/png"),
    ],
)
def test_each_format_becomes_one_that_every_model_reads(data: bytes, media_type: str) -> None:
    clean = image_clean(data)
    assert clean.media_type == media_type
    assert decoded(clean).size == (60, 30)
    assert clean.suffix in (".png", ".jpg")


def test_an_animation_gives_its_first_picture() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "green", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=50)
    assert decoded(image_clean(data)).convert("RGB").getpixel((10, 10)) == (255, 0, 0)


def test_transparency_stays_where_the_format_can_hold_it() -> None:
    clean = image_clean(encoded(Image.new("RGBA", (20, 20), (255, 0, 0, 128)), "PNG"))
    assert decoded(clean).getpixel((10, 10)) == (255, 0, 0, 128)


def test_greys_of_sixteen_bits_keep_their_shades() -> None:
    shades = Image.frombytes("I;16", (2, 1), struct.pack("<HH", 0x8000, 0xFFFF))
    image = decoded(image_clean(encoded(shades, "PNG")))
    assert [image.getpixel((x, 0)) for x in (0, 1)] == [128, 255]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((4000, 3000), (1568, 1176)),
        ((3000, 4000), (1176, 1568)),
        ((1569, 1569), (1568, 1568)),
        ((1568, 10), (1568, 10)),
        ((20_000, 3), (1568, 1)),
    ],
)
def test_a_large_image_is_made_smaller_in_its_own_shape(given: tuple[int, int], wanted: tuple[int, int]) -> None:
    for kind in ("JPEG", "PNG"):
        assert decoded(image_clean(encoded(Image.new("RGB", given), kind))).size == wanted
    assert max(wanted) == LONGEST_SIDE_PIXELS


def test_a_small_image_keeps_its_size() -> None:
    assert decoded(image_clean(encoded(photograph(1, 1), "PNG"))).size == (1, 1)


def test_an_image_that_png_cannot_pack_becomes_a_jpeg_on_white() -> None:
    noise = Image.frombytes("RGB", (1200, 1200), os.urandom(1200 * 1200 * 3)).convert("RGBA")
    noise.paste((0, 0, 0, 0), (0, 0, 100, 100))
    clean = image_clean(encoded(noise, "PNG"))
    assert clean.media_type == "image/jpeg"
    assert len(clean.data) <= STORED_MAX_BYTES
    assert decoded(clean).getpixel((50, 50)) == (255, 255, 255)


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (100_000, 100_000), (PIXELS_MAX // 1000 + 1, 1000)])
def test_a_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    bomb = png_of(width, height)
    assert len(bomb) < 1_000
    with pytest.raises(ImageInvalid, match="million pixels"):
        image_clean(bomb)


SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
JPEG = encoded(photograph(600, 400), "JPEG")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x00\x00\x00\x00WEBPVP8 ", SVG, b"%PDF-1.7",
        b"<!doctype html><script>alert(1)</script>", b"PK\x03\x04" + bytes(100), b"BM" + bytes(100), bytes(10_000),
        encoded(photograph(), "BMP"), encoded(photograph(), "TIFF"), encoded(photograph(), "ICO"),
        b"GIF89a/*" + bytes(30) + b"*/=1;alert(1)", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    ],
)  # fmt: skip
def test_what_is_no_image_of_the_four_formats_is_refused(data: bytes) -> None:
    with pytest.raises(ImageInvalid):
        image_clean(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_an_image_that_was_cut_off_is_refused(kind: str) -> None:
    noise = Image.frombytes("RGB", (200, 200), os.urandom(200 * 200 * 3))
    whole = encoded(noise, kind)
    assert image_clean(whole)
    for part in (0.3, 0.7):
        with pytest.raises(ImageInvalid, match="damaged"):
            image_clean(whole[: int(len(whole) * part)])


@pytest.mark.parametrize("tail", [SVG, b"PK\x03\x04" + b"hidden.zip" * 9, b"<script>alert(1)</script>"])
def test_what_hides_behind_an_image_is_left_behind(tail: bytes) -> None:
    clean = image_clean(JPEG + tail)
    assert tail[:12] not in clean.data
    assert decoded(clean).size == (600, 400)


def test_random_damage_never_does_worse_than_a_refusal() -> None:
    for kind in ("JPEG", "PNG", "WEBP", "GIF"):
        whole = encoded(photograph(80, 80), kind)
        for place in range(0, len(whole), max(1, len(whole) // 60)):
            broken = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
            with contextlib.suppress(ImageInvalid):
                assert decoded(image_clean(broken))
