"""The planner's answers as tables in a terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from providers.engines.architecture import Architecture
from providers.engines.packing import Gpu, Packing
from providers.engines.planner import GIB, Verdict
from providers.engines.plans import turns_in_words


def verdicts_table(models: Mapping[str, tuple[Architecture, Verdict]]) -> Table:
    table = Table(
        "model",
        *(Column(head, justify="right") for head in ("parameters", "weights", "cache", "beside", "together")),
        "verdict",
        caption="GiB on each GPU, of the way that the verdict names",
    )
    for name, (model, verdict) in models.items():
        need = verdict.need
        sizes = [f"{size / GIB:.1f}" for size in (need.weights, need.cache, need.overhead, need.total)]
        table.add_row(name, f"{model.parameters / 1e9:.2f} B", *sizes, verdict.sentence)
    return table


def packing_shown(packing: Packing, gpus: Sequence[Gpu]) -> RenderableType:
    names = {gpu.index: f"{gpu.index}: {gpu.name}, {gpu.memory_gib:g} GiB" for gpu in gpus}
    table = Table("GPU", "model", Column("share", justify="right"), "awake", "how")
    for one in sorted(packing.placed, key=lambda one: (one.gpus, one.turn, -one.share)):
        where = "\n".join(names[index] for index in one.gpus)
        awake = f"turn {one.turn}" if one.turn else "always"
        table.add_row(where, one.name, f"{one.share:.2f}", awake, one.verdict.sentence)
    lines = [Text(f"{name} {verdict.sentence}") for name, verdict in packing.left_out]
    if turns := turns_in_words(packing):
        lines.append(Text(turns))
    return Group(table, *lines)
