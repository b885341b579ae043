"""Every write about engines."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from common.audit import Deed, note
from common.clock import lapsed
from providers.engines.embedded import port_is_taken
from providers.engines.models import NOBODY, UNSEEN_SECONDS, Engine
from providers.engines.states import SLEEPY, Report, State, Wanted
from providers.engines.vllm import LOOPBACK
from providers.models import Endpoint, LanguageModel

FIRST_TOKEN_SECONDS = 120
FIRST_PORT = 8101  # of engines whose port nobody chose


@transaction.atomic
def engine_create(**fields: Any) -> Engine:
    """A new engine with its endpoint and its model. Raises ValidationError."""
    engine = Engine(**fields)
    engine.full_clean()
    engine.save()
    engine_endpoint_sync(engine=engine)
    return engine


@transaction.atomic
def engines_make(*, wanted: Sequence[Mapping[str, Any]], actor_id: int | None = None) -> list[Engine]:
    """Make the engines of a plan, each with a name after its model and a free port; one that is there already is left
    as it is. Raises ValidationError, and then makes none."""
    made = []
    for fields in wanted:
        if engine_like(**fields):
            continue
        slugs = Engine.objects.values_list("slug", flat=True)
        slug = _free(_slug_of(str(fields["model"])), slugs)
        made.append(engine_create(**fields, slug=slug, port=_free_port()))
    note(*(Deed(actor_id=actor_id, action="engine_add", subject=engine.slug) for engine in made))
    return made


def engine_like(*, model: str, quantization: str = "", **others: Any) -> Engine | None:
    """One of ours that runs this model in this way already."""
    return Engine.objects.ours().filter(model=model, quantization=quantization).first()


def _name_of(model: str) -> str:
    """Of a hub id or a folder: its last part, without the organisation that downloads put before it."""
    return model.rstrip("/").rpartition("/")[2].rpartition("--")[2]


def _slug_of(model: str) -> str:
    return slugify(_name_of(model).replace(".", "-"))[:40].strip("-") or "engine"


def _free_port() -> int:
    taken = set(Engine.objects.ours().values_list("port", flat=True))
    return next(port for port in range(FIRST_PORT, 65536) if port not in taken and not port_is_taken(LOOPBACK, port))


@transaction.atomic
def engine_endpoint_sync(*, engine: Engine) -> Endpoint:
    """Give the engine its endpoint, and to a new one of ours the model it serves. What an operator changed there stays;
    only the address follows the engine."""
    base_url = f"{engine.spec.url}/v1"
    endpoint = engine.endpoint
    if endpoint is None:
        slug = _free(engine.slug, Endpoint.objects.values_list("slug", flat=True))
        endpoint = Endpoint.objects.create(
            slug=slug,
            name=f"Engine {engine.slug}",
            base_url=base_url,
            first_token_timeout=FIRST_TOKEN_SECONDS,
            is_reachable=False,
            engine_state=engine.state,
        )
        engine.endpoint = endpoint
        engine.save(update_fields=["endpoint"])
        if engine.spec.is_ours:
            _model_add(engine, endpoint)
    elif endpoint.base_url != base_url:
        endpoint.base_url = base_url
        endpoint.save(update_fields=["base_url"])
    return endpoint


def _model_add(engine: Engine, endpoint: Endpoint) -> None:
    name = _name_of(engine.model)[:90]
    LanguageModel.objects.create(
        endpoint=endpoint,
        slug=_free(slugify(engine.slug), LanguageModel.objects.values_list("slug", flat=True)),
        name=_free(name, LanguageModel.objects.values_list("name", flat=True)),
        upstream_id=engine.slug,
        context_window=engine.context,
    )


def _free(wanted: str, taken: Collection[str]) -> str:
    names = set(taken)
    return next(one for one in (wanted, *(f"{wanted}-{n}" for n in range(2, len(names) + 3))) if one not in names)


def engine_desired_set(*, engine: Engine, desired: Wanted) -> None:
    """Say what is wanted of it; `manage.py engines run` does it within a second or two. To ask for one that is awake
    already keeps it awake a while longer where engines take turns."""
    engine.desired, engine.wanted_at = desired.value, timezone.now()
    engine.save(update_fields=["desired", "wanted_at"])


def engine_wake(*, endpoint_slug: str) -> tuple[State | None, str]:
    """Wake the engine behind this endpoint where it sleeps; return how it is now, and why. None: there is none.

    Idempotent. An engine that drains is not held up: it goes to sleep first, for another needs its memory.
    """
    engine = Engine.objects.filter(endpoint__slug=endpoint_slug).only("state", "reason", "desired", "seen_at").first()
    if engine is None:
        return None, ""
    if engine.state in SLEEPY and not engine.is_watched:
        return State.FAILED, "nobody looks after it: manage.py engines run is not running"
    if engine.state == State.ASLEEP and engine.desired == Wanted.ASLEEP:
        asleep = Engine.objects.filter(pk=engine.pk, state=State.ASLEEP, desired=Wanted.ASLEEP)
        asleep.update(desired=Wanted.AWAKE, wanted_at=timezone.now())
    return State(engine.state), engine.reason


@transaction.atomic
def engine_note(*, slug: str, report: Report) -> None:
    """Store how an engine is, and whether its endpoint's models may be drawn: one that has come back is drawn at once,
    however often its models failed while it was away. An unknown slug is no error."""
    engine = Engine.objects.filter(slug=slug).first()
    if engine is None:
        return
    now = timezone.now()
    has_come_back = engine.state != report.state and report.state is State.READY
    if engine.state != report.state:
        engine.state, engine.state_since = report.state.value, now
        if report.state in (State.STARTING, State.WAKING):
            engine.started_at = now
    for name in ("reason", "restarts", "running", "waiting", "cache_used", "cache_tokens", "log_tail"):
        setattr(engine, name, getattr(report, name))
    engine.seen_at = now
    engine.save(update_fields=[
        "state", "state_since", "started_at", "reason", "restarts", "running", "waiting", "cache_used", "cache_tokens",
        "log_tail", "seen_at",
    ])  # fmt: skip
    is_reachable = report.state is State.READY or report.state in SLEEPY
    Endpoint.objects.filter(engine=engine).update(
        engine_state=report.state.value, is_reachable=is_reachable, checked_at=now
    )
    if has_come_back:
        LanguageModel.objects.filter(endpoint__engine=engine).update(failures_in_row=0, resting_until=None)


@transaction.atomic
def engines_unseen_note() -> int:
    """Say of those that nobody looks after any more that they are out of reach: their `engines run` was killed, and its
    guard has ended them. Returns how many; the next `engines run` says how they really are."""
    unseen = lapsed("seen_at", timezone.now() - timedelta(seconds=UNSEEN_SECONDS))
    gone = Engine.objects.filter(unseen).exclude(state__in=[State.STOPPED, State.UNREACHABLE])
    pks = list(gone.values_list("pk", flat=True))
    Engine.objects.filter(unseen, pk__in=pks).update(
        state=State.UNREACHABLE, state_since=timezone.now(), reason=str(NOBODY), running=0, waiting=0
    )
    Endpoint.objects.filter(engine__in=pks).update(engine_state=State.UNREACHABLE, is_reachable=False)
    return len(pks)


@transaction.atomic
def engines_delete(*, engines: QuerySet[Engine]) -> None:
    """Its endpoint and models stay, for battles name them, but are not drawn any more; its process is stopped."""
    Endpoint.objects.filter(engine__in=engines).update(engine_state="", is_reachable=False)
    engines.delete()


def engines_put_to_sleep(*, asked: Mapping[str, datetime]) -> None:
    """These make room for others; they wake again when they are asked. `asked` says when each was last asked for, as it
    was read: one that was asked again meanwhile stays."""
    for slug, wanted_at in asked.items():
        awake = Engine.objects.filter(slug=slug, desired=Wanted.AWAKE, wanted_at=wanted_at)
        awake.update(desired=Wanted.ASLEEP)
