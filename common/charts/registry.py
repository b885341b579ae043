"""All kinds of charts by their name. A new kind is a file and a line here."""

from common.charts.bars import Bars
from common.charts.distribution import Histogram, Spreads
from common.charts.figure import Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import Intervals
from common.charts.lines import Lines
from common.charts.radar import Radar
from common.charts.scatter import Scatter

KINDS: dict[str, type[Figure]] = {
    kind.kind: kind for kind in (Intervals, Heatmap, Lines, Bars, Radar, Histogram, Spreads, Scatter)
}
