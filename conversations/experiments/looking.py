"""From what a reader asks for to what the analyse pages show."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from conversations.experiments.analysing import Comparison, Fact, Summary, compare_all, compare_pairs, summarise
from conversations.experiments.figures import Beside, Looked
from conversations.experiments.sample import Said, Sample, sample_read
from conversations.models import Experiment

# Of so many groups every two are compared; more comparisons nobody reads, and none would hold.
COMPARED_GROUPS = 12


@dataclass(frozen=True, slots=True)
class Part:
    """One side of a comparison: an experiment, or one scenario of it."""

    experiment: Experiment
    scenario: str = ""


def look(
    experiment: Experiment, *, measure: str, by: str, model: str = "", scenario: str = ""
) -> tuple[Looked, Sample]:
    """What the experiment shows of a measure, and the turns that it is read from."""
    sample = sample_read(experiment, measure=measure, model=model, scenario=scenario)
    return Looked(measure, by, sample.said, summarise(sample.facts(by))), sample


def summary_row(one: Summary) -> dict[str, Any]:
    """A group's figures under the names that files and programs have for them."""
    return {
        "turns": one.turns, "conversations": one.conversations, "mean": one.mean, "lower": one.lower,
        "upper": one.upper, "p5": one.low, "p25": one.first, "median": one.median, "p75": one.third, "p95": one.high,
    }  # fmt: skip


def comparisons_of(looked: Looked, sample: Sample) -> list[Comparison]:
    """Every two groups compared. Turns come one after the other, so that two of them say nothing: none."""
    if looked.by == "turn":
        return []
    return compare_all(sample.facts(looked.by), [one.group for one in looked.summaries[:COMPARED_GROUPS]])


def listed(looked: Looked, *, group: str = "", order: str = "") -> list[Said]:
    """The turns behind the figures, of one group where one is named. `order`: "high", "low", or as in the plan."""
    said = [one for one in looked.said if not group or one.group(looked.by) == group]
    return sorted(said, key=lambda one: one.value, reverse=order == "high") if order else said


def beside(first: Part, second: Part, *, measure: str, by: str = "") -> tuple[Beside, list[Sample]]:
    """Two parts beside each other: as a whole, then group by group where both have it."""
    samples = [sample_read(part.experiment, measure=measure, scenario=part.scenario) for part in (first, second)]
    everything = _("All turns")
    sides: list[dict[str, list[Fact]]] = []
    for at, (part, sample) in enumerate(zip((first, second), samples, strict=True)):
        groups: dict[str, list[Fact]] = {everything: []}
        for fact in sample.facts(by or "turn"):
            where = (part.experiment.pk, fact.conversation)
            groups[everything].append(Fact(f"{at}{everything}", where, fact.value))
            if by:
                groups.setdefault(fact.group, []).append(Fact(f"{at}{fact.group}", where, fact.value))
        sides.append({name: facts for name, facts in groups.items() if facts})
    shared = [name for name in sides[0] if name in sides[1]]
    facts = [fact for side in sides for name in shared for fact in side[name]]
    summaries = {one.group: one for one in summarise(facts)}
    return (
        Beside(
            measure,
            _names(first, second),
            [(name, summaries[f"0{name}"], summaries[f"1{name}"]) for name in shared],
            [(one.first[1:], one) for one in compare_pairs(facts, [(f"0{name}", f"1{name}") for name in shared])],
        ),
        samples,
    )


def _names(first: Part, second: Part) -> tuple[str, str]:
    """As short as they can be told apart."""
    if first.experiment == second.experiment:
        return first.scenario or _("all scenarios"), second.scenario or _("all scenarios")
    one, other = (f"{part.experiment.name}{part.scenario and f', {part.scenario}'}" for part in (first, second))
    return (one, other) if one != other else (f"{one} (1)", f"{other} (2)")
