"""How conversations are made: one as a person asks for it, or many of a plan at once. Called through the services."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import transaction

from accounts.models import User
from common.limits import hit
from common.text import is_blank, text_problem
from conversations.errors import AgentGone, ConversationInvalid
from conversations.models import Agent, Conversation, Experiment, Scenario, Side
from conversations.sampling import SAMPLED, WRONG, wrong_in
from conversations.scenario_texts import filled, placeholders_check
from conversations.stopping import Rules
from providers.adapters.base import Sampling
from providers.models import LanguageModel

NAME_MAX_CHARACTERS = 60
SYSTEM_MAX_CHARACTERS = 20_000
LINE_MAX_CHARACTERS = 20_000
USUAL = Rules()
THE_MODELS_OWN = Sampling()


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What a person says of an agent; `model` is a slug."""

    model: str
    sampling: Sampling = THE_MODELS_OWN
    system: str = ""
    name: str = ""
    persona: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation:
    """A conversation that is to be made. What is left empty comes from the scenario, whose placeholders are filled in.
    The last three say where it stands in the plan of an experiment."""

    agents: Mapping[Side, AgentSpec]
    seed_prompt: str = ""
    scenario: Scenario | None = None
    first_side: Side | None = None
    rules: Rules = USUAL
    seed: int | None = None
    category: str = ""
    experiment: Experiment | None = None
    cell: int | None = None
    iteration: int | None = None


@transaction.atomic
def conversation_create(*, owner: User, wanted: NewConversation) -> Conversation:
    """Make a conversation that has not begun. It counts against what one person may start in an hour.

    Raises ConversationInvalid, ScenarioInvalid, AgentGone, TooMany.
    """
    hit(f"conversations:{owner.pk}", limit=settings.CONVERSATIONS_PER_HOUR, seconds=3600)
    rules_check(wanted.rules)
    models = {spec.model: _model(spec.model) for spec in wanted.agents.values()}
    if wanted.scenario:
        texts = {f"agent_{side}.system": _given(wanted, side, "system") for side in Side}
        placeholders_check({"seed_prompt": _seed_prompt(wanted), **texts})
    for spec in wanted.agents.values():
        for name in wrong_in(spec.sampling):
            raise ConversationInvalid(WRONG[name])
    conversation, agents = _rows(owner, wanted, models)
    if is_blank(conversation.seed_prompt):
        raise ConversationInvalid("Write a seed prompt, or choose a scenario: the agent who begins is told it first.")
    clean(conversation.seed_prompt, LINE_MAX_CHARACTERS, "seed prompt")
    for agent in agents:
        clean(agent.name, NAME_MAX_CHARACTERS, "name")
        clean(agent.persona, SYSTEM_MAX_CHARACTERS, "persona")
        clean(agent.system_prompt, SYSTEM_MAX_CHARACTERS, "system prompt")
    conversation.save(force_insert=True)
    Agent.objects.bulk_create(agents)
    return conversation


@transaction.atomic
def conversations_create(*, owner: User, wanted: Iterable[NewConversation]) -> None:
    """Make many conversations of a plan that was checked before, in a fixed number of queries. One whose model has left
    the catalogue or is retired is made like all others, and says why it stands still when its turn comes."""
    wanted = list(wanted)
    slugs = {spec.model for one in wanted for spec in one.agents.values()}
    models = {model.slug: model for model in LanguageModel.objects.filter(slug__in=slugs)}
    rows = [_rows(owner, one, models) for one in wanted]
    Conversation.objects.bulk_create(conversation for conversation, _ in rows)
    Agent.objects.bulk_create(agent for _, agents in rows for agent in agents)


def rules_check(rules: Rules) -> None:
    """Raises ConversationInvalid where a conversation could not begin, or would have no end."""
    most = settings.CONVERSATION_TURNS_MAX
    if not 1 <= rules.max_turns <= most:
        words = f"Max turns must be from 1 to {most}."
        raise ConversationInvalid(words, fields={"max_turns": [words]})
    if rules.token_budget is not None and rules.token_budget < 1:
        raise ConversationInvalid("A token budget must be at least 1.")
    if rules.cost_budget is not None and rules.cost_budget <= 0:
        raise ConversationInvalid("A cost budget must be more than 0.")


def clean(text: str, limit: int, what: str) -> str:
    """The text, where it can be stored. Raises ConversationInvalid."""
    if problem := text_problem(text, limit=limit, what=what):
        raise ConversationInvalid(problem)
    return text


def _rows(
    owner: User, wanted: NewConversation, models: Mapping[str, LanguageModel]
) -> tuple[Conversation, list[Agent]]:
    """The rows of a conversation, not stored yet; a model that is not among `models` is none of the catalogue."""
    scenario, specs = wanted.scenario, wanted.agents
    found = {side: models.get(specs[side].model) for side in Side}
    names = {side: _given(wanted, side, "name") for side in Side}
    first_side = wanted.first_side or Side(scenario.first_side if scenario else Side.A)
    seed_prompt, systems = _seed_prompt(wanted), {side: _given(wanted, side, "system") for side in Side}
    if scenario:
        called = {side: names[side] or (one.name if (one := found[side]) else specs[side].model) for side in Side}
        values = {
            side: {
                "name": called[side],
                "other": called[side.other],
                "persona": specs[side].persona,
                "turns": str(wanted.rules.max_turns),
            }
            for side in Side
        }
        seed_prompt = filled(seed_prompt, values[first_side])
        systems = {side: filled(systems[side], values[side]) for side in Side}
    rules = asdict(wanted.rules) | {"stop_phrase": wanted.rules.stop_phrase.strip()}
    conversation = Conversation(
        owner=owner,
        scenario=scenario,
        category=wanted.category.strip() or (scenario.category if scenario else "") or "tourney",
        seed_prompt=seed_prompt,
        first_side=first_side,
        seed=wanted.seed,
        experiment=wanted.experiment,
        cell=wanted.cell,
        iteration=wanted.iteration,
        **rules,
    )
    agents = [
        Agent(
            conversation=conversation,
            side=side,
            model=found[side],
            model_slug=specs[side].model,
            name=names[side],
            persona=specs[side].persona.strip(),
            system_prompt=systems[side],
            **{name: getattr(specs[side].sampling, name) for name in SAMPLED},
        )
        for side in Side
    ]
    return conversation, agents


def _seed_prompt(wanted: NewConversation) -> str:
    return wanted.seed_prompt.strip() or (wanted.scenario.opening if wanted.scenario else "")


def _given(wanted: NewConversation, side: Side, what: str) -> str:
    """An agent's name or system prompt: its own, else that of the scenario."""
    own = str(getattr(wanted.agents[side], what)).strip()
    return own or (str(getattr(wanted.scenario, f"{what}_{side}")) if wanted.scenario else "")


def _model(slug: str) -> LanguageModel:
    model = LanguageModel.objects.select_related("endpoint").filter(slug=slug).first()
    if model is None:
        raise ConversationInvalid(f"There is no model “{slug}”. Choose one of the catalogue.")
    if not model.is_active:
        raise AgentGone(f"{model.name} cannot be asked. Choose another model.")
    return model
