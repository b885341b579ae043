"""All kinds of charts by their name. A new kind is a file and a line here."""

from common.charts.figure import Figure
from common.charts.intervals import Intervals

KINDS: dict[str, type[Figure]] = {kind.kind: kind for kind in (Intervals,)}
