"""The key of colours, for kinds whose marks cannot carry their names."""

from common.charts.canvas import Canvas
from common.charts.text import text_width

LINE = 20.0  # units


def key_of_colours(canvas: Canvas, entries: list[tuple[str, str]], top: float = 0.0) -> float:
    """Draw (paint, name) pairs in lines from `top` on; returns where the space below begins (`top` without entries)."""
    if not entries:
        return top
    x, y = 0.0, top + LINE / 2
    for paint, name in entries:
        wide = min(text_width(name[:200], 12), canvas.width * 0.6) + 16
        if x and x + wide > canvas.width:
            x, y = 0.0, y + LINE
        canvas.mark("rect", x=x, y=y - 5, width=10, height=10, rx=2, fill=paint)
        canvas.text(x + 16, y, name, room=canvas.width * 0.6)
        x += wide + 16
    return y + LINE / 2 + 8
