"""The key of colours, for kinds whose marks cannot carry their names."""

from common.charts.canvas import Canvas
from common.charts.paint import Look
from common.charts.text import text_width

LINE = 20.0  # units


def key_of_colours(canvas: Canvas, entries: list[tuple[Look, str]], *, lines: bool = False) -> float:
    """Draw (look, name) pairs in rows at the top; returns where the space below begins."""
    if not entries:
        return 0.0
    x, y = 0.0, LINE / 2
    sample = 28 if lines else 16
    for look, name in entries:
        wide = min(text_width(name[:200], 12), canvas.width * 0.6) + sample
        if x and x + wide > canvas.width:
            x, y = 0.0, y + LINE
        if lines:
            canvas.line(x, y, x + 22, y, look.paint, width=2, dash=look.dash)
        else:
            canvas.mark("rect", x=x, y=y - 5, width=10, height=10, rx=2, fill=look.paint)
        canvas.text(x + sample, y, name, room=canvas.width * 0.6)
        x += wide + 16
    return y + LINE / 2 + 8
