"""The planner as a page of the admin: what fits, who shares a GPU with whom, and a button that makes such engines. All
that was asked is in the address, so that a plan can be sent to somebody."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from providers.engines.architecture import Architecture
from providers.engines.configs import NoConfig, architecture_of, known, model_place
from providers.engines.downloads import listed
from providers.engines.gpus import NoGpu, gpus_here
from providers.engines.models import Engine
from providers.engines.packing import Gpu, Placed
from providers.engines.planner import GIB, Need, Verdict, Way
from providers.engines.plans import (
    PACKED_CONTEXT,
    Plan,
    Sharing,
    engine_fields,
    memory_of_this_machine,
    obstacle_to,
    plan_of,
    turns_in_words,
)
from providers.engines.services import engines_make
from providers.engines.sharing import SHARE_UNSAID

MOST_MODELS = 30
MOST_GPUS = 16
LARGEST_GIB = 10_000


def split(text: str) -> list[str]:
    return re.split(r"[\s,;]+", text.strip()) if text.strip() else []


class PlanForm(forms.Form):
    """What is asked beside the models. `memory` becomes GPUs: those that were written, or else this machine's."""

    memory = forms.CharField(
        label=gettext_lazy("Memory of each GPU, in GiB"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("As 24, or 24 24 for two. Empty: the GPUs of this machine."),
    )
    context = forms.IntegerField(
        label=gettext_lazy("Context, in tokens"),
        required=False,
        min_value=128,
        max_value=100_000_000,
        help_text=gettext_lazy("Empty: the longest of each model; %(tokens)s where several share.")
        % {"tokens": f"{PACKED_CONTEXT:,}"},
    )
    concurrency = forms.IntegerField(
        label=gettext_lazy("Such conversations at once"), required=False, min_value=1, max_value=100_000, initial=1
    )
    requests = forms.IntegerField(
        label=gettext_lazy("Requests answered at once, at most"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=gettext_lazy("Fewer take less beside weights and cache. Empty: vLLM's own, 256, or 1,024 on 70 GiB."),
    )
    quantization = forms.ChoiceField(
        label=gettext_lazy("Quantization"),
        required=False,
        choices=[
            ("", gettext_lazy("As the model is stored")),
            ("bitsandbytes", gettext_lazy("bitsandbytes, 4 bits, made while it loads")),
            ("awq", gettext_lazy("AWQ, 4 bits, of a checkpoint that was made so")),
            ("gptq", gettext_lazy("GPTQ, 4 bits, of a checkpoint that was made so")),
            ("fp8", gettext_lazy("fp8, 8 bits, made while it loads")),
        ],
    )
    tensor_parallel = forms.IntegerField(
        label=gettext_lazy("GPUs that one model is cut over, at least"),
        required=False,
        min_value=1,
        max_value=MOST_GPUS,
        initial=1,
    )
    host_memory = forms.FloatField(
        label=gettext_lazy("Memory of the machine, in GiB"),
        required=False,
        min_value=0,
        max_value=LARGEST_GIB * 100,
        help_text=gettext_lazy(
            "For the weights of models that sleep. Empty: this machine's, where its GPUs are meant."
        ),
    )
    fp8_cache = forms.BooleanField(label=gettext_lazy("Keep keys and values in 8 bits"), required=False)
    eager = forms.BooleanField(label=gettext_lazy("Without CUDA graphs: slower, a third of a GiB less"), required=False)

    def clean_memory(self) -> list[Gpu]:
        given = split(self.cleaned_data["memory"])
        if not given:
            try:
                return gpus_here(settings.VAR / "engines")
            except NoGpu as error:
                raise ValidationError(
                    _("Write the memory of the GPU: %(why)s."), params={"why": str(error).partition(";")[0]}
                ) from None
        try:
            sizes = [float(one) for one in given]
        except ValueError:
            raise ValidationError(_("Write numbers, as 24 or 24 24.")) from None
        if not all(0 < size <= LARGEST_GIB for size in sizes) or len(sizes) > MOST_GPUS:
            words = _("Up to %(gpus)d GPUs of more than 0 and up to %(most)s GiB.")
            raise ValidationError(words, params={"gpus": MOST_GPUS, "most": f"{LARGEST_GIB:,}"})
        return [Gpu(index, _("given"), size) for index, size in enumerate(sizes)]

    @property
    def wanted(self) -> Way:
        said = self.cleaned_data
        return Way(
            context=said["context"],
            concurrency=said["concurrency"] or 1,
            quantization=said["quantization"],
            kv_bytes=1 if said["fp8_cache"] else 0,
            tensor_parallel=said["tensor_parallel"] or 1,
            eager=said["eager"],
            sequences=said["requests"],
        )

    @property
    def host_memory_gib(self) -> float:
        said = self.cleaned_data["host_memory"]
        if said is not None:
            return float(said)
        return 0.0 if split(self.data.get("memory", "")) else memory_of_this_machine()


@dataclass(frozen=True)
class Fit:
    """A row of the first table: a model, and what it takes in the way that the verdict names, in GiB."""

    name: str
    model: Architecture
    verdict: Verdict

    @property
    def billions(self) -> float:
        return self.model.parameters / 1e9

    @property
    def sizes(self) -> list[float]:
        need: Need = self.verdict.need
        return [size / GIB for size in (need.weights, need.cache, need.overhead, need.total)]


@dataclass(frozen=True)
class Place:
    """A row of a sharing: where a model goes, and the engine that it would be. `engine` is the name of one that is
    there already, and `otherwise` how it is where that is not as planned; `obstacle` is why there can be none; with
    neither, `fields` is what it is made with."""

    placed: Placed
    gpus: str
    engine: str
    otherwise: str
    obstacle: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Shown:
    sharing: Sharing
    places: list[Place]
    turns: str

    @property
    def left_out(self) -> list[tuple[str, str]]:
        return [(name, verdict.sentence) for name, verdict in self.sharing.packing.left_out]

    @property
    def new(self) -> list[dict[str, Any]]:
        return [place.fields for place in self.places if place.fields]


def plan_page(request: HttpRequest, *, site: admin.AdminSite, can_make: bool) -> HttpResponse:
    """GET shows the plan that the address asks for; POST to the same address makes the engines of its sharing `way`."""
    names = list(dict.fromkeys(name for text in request.GET.getlist("models") for name in split(text)))
    form = PlanForm(request.GET if request.GET else None)
    problems: list[str] = []
    models = _architectures(names, problems, can_read_paths=can_make) if form.is_bound else {}
    plan, shown = None, []
    ours: list[Engine] = []
    if form.is_bound and form.is_valid() and not problems:
        gpus: list[Gpu] = form.cleaned_data["memory"]
        plan = plan_of(models, gpus, form.wanted, host_memory_gib=form.host_memory_gib)
        ours = list(Engine.objects.ours())
        shown = [_shown(sharing, plan, gpus, ours, can_read_paths=can_make) for sharing in plan.sharings]
    if request.method == "POST":
        if not can_make:
            raise PermissionDenied
        if made := _made(request, shown):
            return made
    downloaded = [manifest.hub_id for _folder, manifest in listed(settings.MODELS)]
    short = sorted(name for name in known() if "/" not in name)
    context = {
        **site.each_context(request),
        "title": _("Plan"),
        "opts": Engine._meta,
        "form": form,
        "groups": [
            (title, [(name, name in names) for name in group])
            for title, group in ((_("Downloaded"), downloaded), (_("Known by name"), short))
            if group
        ],
        "others": " ".join(name for name in names if name not in {*downloaded, *short}),
        "problems": problems,
        "fits": [Fit(name, *row) for name, row in plan.verdicts.items()] if plan else [],
        "sharings": shown,
        "here": _gpus_in_words(),
        "running": ours,
        "can_make": can_make,
    }
    return render(request, "admin/providers/engine_plan.html", context)


def _architectures(names: Sequence[str], problems: list[str], *, can_read_paths: bool) -> dict[str, Architecture]:
    if not names:
        problems.append(_("Choose a model."))
    if len(names) > MOST_MODELS:
        problems.append(_("Choose at most %(most)d models.") % {"most": MOST_MODELS})
        return {}
    found = {}
    for name in names:
        try:
            found[name] = architecture_of(name, (settings.MODELS,), can_read_paths=can_read_paths)
        except NoConfig:
            words = _(
                "%(name)s is not here. Bring it with manage.py models_download, write a size such as 7b, or choose a "
                "name from the list."
            )
            problems.append(words % {"name": name})
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return found


def _shown(sharing: Sharing, plan: Plan, gpus: Sequence[Gpu], ours: Sequence[Engine], *, can_read_paths: bool) -> Shown:
    names = {gpu.index: f"{gpu.index}: {gpu.name}, {gpu.memory_gib:.4g} GiB" for gpu in gpus}
    by_model = {(engine.model, engine.quantization): engine for engine in reversed(ours)}
    places = []
    for placed in sorted(sharing.packing.placed, key=lambda one: (one.gpus, one.turn, -one.share)):
        model, _verdict = plan.verdicts[placed.name]
        fields, engine, otherwise, obstacle = {}, "", "", obstacle_to(placed, model)
        try:
            place = model_place(placed.name, (settings.MODELS,), can_read_paths=can_read_paths)
        except NoConfig:
            obstacle = _("It is a size and no model.")
        if not obstacle:
            fields = {"model": place, **engine_fields(placed, sharing, model)}
            if there := by_model.get((place, fields["quantization"])):
                engine, otherwise, fields = there.slug, _otherwise(there, fields, model), {}
        where = "; ".join(names[index] for index in placed.gpus)
        places.append(Place(placed, where, engine, otherwise, obstacle, fields))
    return Shown(sharing, places, turns_in_words(sharing.packing))


def _otherwise(engine: Engine, planned: dict[str, Any], model: Architecture) -> str:
    """The share and the context of an engine that has others than planned."""
    share = SHARE_UNSAID if engine.memory_share is None else engine.memory_share
    context = engine.context or model.context
    if round(share, 2) == round(planned["memory_share"], 2) and context == planned["context"]:
        return ""
    return _("with share %(share).2f and context %(context)s") % {"share": share, "context": f"{context:,}"}


def _made(request: HttpRequest, shown: Sequence[Shown]) -> HttpResponse | None:
    """Make what was asked for and go to the list of engines; None, and a message, where that is not possible."""
    number = request.POST.get("way", "")
    if not number.isdecimal() or int(number) >= len(shown) or not shown[int(number)].new:
        messages.error(request, _("There is nothing to make: the plan has changed. Look at it again."))
        return None
    try:
        engines = engines_make(wanted=shown[int(number)].new, actor_id=request.user.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return None
    slugs = ", ".join(engine.slug for engine in engines)
    words = ngettext(
        "%(count)d engine was made: %(slugs)s. manage.py engines run starts it.",
        "%(count)d engines were made: %(slugs)s. manage.py engines run starts them.",
        len(engines),
    )
    messages.success(request, words % {"count": len(engines), "slugs": slugs})
    return redirect("admin:providers_engine_changelist")


def _gpus_in_words() -> str:
    try:
        found = gpus_here(Path(settings.VAR) / "engines")
    except NoGpu as error:
        return _("This machine: %(why)s.") % {"why": str(error).partition(";")[0]}
    return _("This machine: %(gpus)s.") % {
        "gpus": "; ".join(f"{gpu.index}: {gpu.name}, {gpu.memory_gib:.4g} GiB" for gpu in found)
    }
