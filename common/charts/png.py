"""A chart as pixels, with a font of our own, because a server may have none."""

import re
from pathlib import Path

FONT = Path(__file__).parent / "fonts" / "Roboto-Regular.ttf"
MOST_PIXELS = 40_000_000  # about 160 MB while drawing
# What the font covers: Latin, Greek, Cyrillic, punctuation. Anything else is looked for among the system's fonts,
# which takes longer.
COVERED = re.compile("[\t\n\r -\u058f\u1e00-\u20cf\u2100-\u2122\u2212…]*")
SIZE = re.compile(r'<svg[^>]* width="([0-9.]+)" height="([0-9.]+)"')


def png(svg: str, scale: float = 2.0) -> bytes:
    """The document of `svg_file` as PNG, `scale` pixels a unit, fewer where the picture would be too large."""
    import resvg_py  # a native library that only this needs

    found = SIZE.search(svg)
    if found is None:
        raise ValueError("This is no drawing of svg_file: it has no size.")
    width, height = float(found[1]), float(found[2])
    scale = min(scale, (MOST_PIXELS / (width * height)) ** 0.5)
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            width=max(1, round(width * scale)),
            height=max(1, round(height * scale)),
            background="#ffffff",
            font_files=[str(FONT)],
            skip_system_fonts=COVERED.fullmatch(svg) is not None,
            font_family="Roboto",
            sans_serif_family="Roboto",
        )
    )
