"""A web of categories: the profile of a few models. For exact comparison use intervals or a heatmap."""

import math
from dataclasses import dataclass

from common.charts.canvas import Canvas
from common.charts.figure import PLAIN, WIDE, Axis, Figure, Table
from common.charts.key import key_of_colours
from common.charts.numbers import LARGEST, Scale, finite, say, tick_step, ticks
from common.charts.paint import Look, looks_of
from common.charts.text import clean, text_width

RINGS = 4


@dataclass(frozen=True)
class Profile:
    """One value for each category, None where there is none; `key` gives the colour, or `paint` names it."""

    label: str
    values: tuple[float | None, ...]
    key: str | None = None
    paint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Radar(Figure):
    """Profiles over three or more categories; a gap in a profile opens its line."""

    kind = "radar"

    categories: tuple[str, ...]
    profiles: tuple[Profile, ...]
    axis: Axis = PLAIN
    low: float | None = None  # the middle; 0 or the lowest value without it
    high: float | None = None  # the rim; the highest value without it

    def __post_init__(self) -> None:
        finite((self.low, self.high), "scale")
        for profile in self.profiles:
            finite(profile.values, profile.label)
            if len(profile.values) != len(self.categories):
                raise ValueError(
                    f"{profile.label}: {len(profile.values)} values for {len(self.categories)} categories."
                )

    @property
    def is_empty(self) -> bool:
        return not self.categories or not self.profiles

    def _ends(self) -> tuple[float, float]:
        known = [value for profile in self.profiles for value in profile.values if value is not None]
        low = min([0.0, *known]) if self.low is None else self.low
        high = max(known, default=1.0) if self.high is None else self.high
        if high / 2 - low / 2 <= max(abs(low), abs(high)) * 1e-12 or high / 2 - low / 2 < 1e-290:
            high = low + (abs(low) if abs(low) > 1e-290 else 1.0)
        if self.high is None:
            step = tick_step(low, high, RINGS)
            high = min(LARGEST, math.ceil(high / step - 1e-9) * step)
        return low, max(high, low + 1e-290)

    def draw(self, canvas: Canvas) -> None:
        looks = [
            Look(profile.paint, None) if profile.paint else look
            for profile, look in zip(self.profiles, looks_of(profile.key for profile in self.profiles), strict=True)
        ]
        entries = [(look, profile.label) for look, profile in zip(looks, self.profiles, strict=True)]
        top = key_of_colours(canvas, entries, lines=True) if entries[1:] or self.profiles[0].key is not None else 0.0
        side = min(canvas.width, 460.0 if canvas.width >= WIDE else canvas.width)
        longest = max(text_width(line[:200], 12) for name in self.categories for line in _two_lines(name))
        room = min(longest, canvas.width * 0.26)
        radius = min(side / 2 - 30, canvas.width / 2 - room - 14)
        middle = (canvas.width / 2, top + radius + 30)
        scale = Scale(*self._ends(), 0, radius)
        self._web(canvas, middle, scale, room)
        for profile, look in zip(self.profiles, looks, strict=True):
            self._profile(canvas, profile, look, middle, scale)
        canvas.height = middle[1] + radius + 30

    def _place(self, middle: tuple[float, float], at: int, radius: float) -> tuple[float, float]:
        angle = 2 * math.pi * at / len(self.categories) - math.pi / 2
        return middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)

    def _web(self, canvas: Canvas, middle: tuple[float, float], scale: Scale, room: float) -> None:
        count = len(self.categories)
        step = tick_step(scale.low, scale.high, RINGS)
        rings = [value for value in ticks(scale.low, scale.high, RINGS) if scale(value) > 1]
        for value in rings:
            corners = [self._place(middle, at, scale(value)) for at in range(count)]
            canvas.polyline([*corners, corners[0]], "grid", width=1)
        for at, category in enumerate(self.categories):
            canvas.line(*middle, *self._place(middle, at, scale.end), "grid")
            x, y = self._place(middle, at, scale.end + 12)
            side = x - middle[0]
            anchor = "middle" if abs(side) < 6 else "start" if side > 0 else "end"
            lines = _two_lines(category)
            first = y - 13 if anchor == "middle" and y < middle[1] and lines[1:] else y if anchor == "middle" else None
            for index, line in enumerate(lines):
                place = (y - 6.5 * (len(lines) - 1) if first is None else first) + 13 * index
                canvas.text(x, place, line, anchor=anchor, room=canvas.width if anchor == "middle" else room)
        for value in rings:
            words = say(value, step=step, percent=self.axis.percent)
            canvas.text(middle[0] + 4, middle[1] - scale(value) + 7, words, size=9, paint="soft")

    def _profile(self, canvas: Canvas, profile: Profile, look: Look, middle: tuple[float, float], scale: Scale) -> None:
        places = [
            None if value is None else self._place(middle, at, scale(value)) for at, value in enumerate(profile.values)
        ]
        known = [place for place in places if place is not None]
        if len(known) == len(places) > 2:
            canvas.polygon(known, look.paint, opacity=0.07)
        for start, end in zip(places, [*places[1:], places[0]], strict=True):
            if start is not None and end is not None:
                canvas.line(*start, *end, look.paint, width=2, dash=look.dash)
        for category, value, place in zip(self.categories, profile.values, places, strict=True):
            if value is not None and place is not None:
                tip = f"{profile.label}, {category}: {say(value, percent=self.axis.percent)}"
                canvas.dot(*place, look.paint, radius=3, title=tip)

    def table(self) -> Table:
        return Table(
            ("Category", *(profile.label for profile in self.profiles)),
            tuple(
                (category, *(profile.values[at] for profile in self.profiles))
                for at, category in enumerate(self.categories)
            ),
        )


def _two_lines(name: str) -> list[str]:
    """A long name, broken at the space nearest to its middle."""
    name = clean(name)
    spaces = [at for at, character in enumerate(name) if character == " "]
    if len(name) < 14 or not spaces:
        return [name]
    at = min(spaces, key=lambda space: abs(space - len(name) / 2))
    return [name[:at], name[at + 1 :]]
