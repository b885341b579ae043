"""Whether models fit into a limit of memory, as far as it can be known before they are asked.

Of our own engines it can: the embedded one says what it takes, and of a vLLM engine the planner says what it needs as
it is set up. Of any other endpoint it is said that it could not be checked, and nothing is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings

from providers.engines.configs import architecture_of
from providers.engines.embedded import NEEDS_BYTES
from providers.engines.planner import GIB, Answer, Way, fit, need_of
from providers.models import Engine, LanguageModel
from providers.services import EMBEDDED_SLUG

EAGER = "--enforce-eager"


@dataclass(frozen=True, slots=True)
class Fit:
    """`fits` is None where it could not be checked."""

    model: str
    fits: bool | None
    words: str

    def __str__(self) -> str:
        return f"{self.model}: {self.words}"


def fits(models: Iterable[LanguageModel], limit_gib: float) -> list[Fit]:
    """What is known of each model, in their order. `limit_gib` is of one GPU, as `manage.py engines plan` has it; of
    the embedded engine it is the machine's memory."""
    models = list(models)
    rows = Engine.objects.filter(endpoint__in={model.endpoint_id for model in models if model.endpoint_id})
    engines = {row.endpoint_id: row for row in rows}
    return [_fit(model, engines.get(model.endpoint_id), limit_gib) for model in models]


def _fit(model: LanguageModel, engine: Engine | None, limit_gib: float) -> Fit:
    if engine is not None:
        return _planned(model.name, engine, limit_gib)
    if model.endpoint is None or model.endpoint.slug != EMBEDDED_SLUG:
        return Fit(model.name, None, "memory could not be checked: its endpoint is no engine of ours")
    needed = NEEDS_BYTES / GIB
    if needed > limit_gib:
        return Fit(model.name, False, f"needs about {needed:.2f} GiB, more than the limit of {limit_gib:g}")
    return Fit(model.name, True, f"fits: about {needed:.2f} GiB of {limit_gib:g}")


def measured(peaks: Mapping[str, Mapping[str, int | None]], limit_gib: float) -> list[Fit]:
    """What each model took while it was asked, as `scored.peaks_of` has it, beside the limit: of a GPU where its server
    held any, else of the machine."""
    found = []
    for name, own in sorted(peaks.items()):
        gpu = own.get("gpu")
        took, where = (gpu or own.get("process") or 0) / GIB, " on a GPU" if gpu else ""
        is_within = took <= limit_gib
        words = f"took {took:.2f} GiB{where}, {'within' if is_within else 'more than'} the limit of {limit_gib:g}"
        found.append(Fit(name, is_within, words))
    return found


def _planned(name: str, engine: Engine, limit_gib: float) -> Fit:
    wanted = Way(
        context=engine.context,
        quantization=engine.quantization,
        dtype="" if engine.dtype == Engine.Dtype.AUTO else engine.dtype,
        tensor_parallel=engine.tensor_parallel,
        eager=EAGER in engine.extra_arguments,
    )
    try:
        architecture = architecture_of(engine.model, (settings.MODELS,))
        needed = need_of(architecture, wanted).total / GIB
        verdict = fit(architecture, limit_gib, wanted)
    except ValueError as error:
        return Fit(name, None, f"memory could not be checked: {error}")
    if verdict.answer is Answer.FITS:
        return Fit(name, True, f"fits: about {needed:.2f} GiB of {limit_gib:g}")
    words = f"as its engine is set up it needs about {needed:.2f} GiB, more than the limit of {limit_gib:g} leaves"
    return Fit(name, False, f"{words}; it {verdict.sentence}" if verdict.fits else words)
