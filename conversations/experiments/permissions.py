"""Which models may be asked now, and where: looked up about once a second, not for every turn."""

import time
from dataclasses import dataclass, field

from common.database import in_database_thread
from common.errors import TourneyError
from conversations.errors import AgentGone
from conversations.turns import model_check
from providers.adapters.base import Target
from providers.models import LanguageModel
from providers.selectors import target_for

# So long a model that was retired, or a budget that is spent, may go unnoticed.
LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Found:
    until: float
    target: Target | None = None
    refusal: TourneyError | None = None


@dataclass(slots=True)
class Permissions:
    """For the experiments of one person."""

    owner_id: int
    _found: dict[int, _Found] = field(default_factory=dict)

    async def target(self, model_id: int | None) -> Target:
        """Where to ask this model. Raises AgentGone, BudgetSpent, EndpointBudgetSpent."""
        if model_id is None:
            raise AgentGone
        found = self._found.get(model_id)
        if found is None or found.until < time.monotonic():
            found = self._found[model_id] = await in_database_thread(self._look)(model_id)
        if found.refusal:
            raise found.refusal
        assert found.target is not None
        return found.target

    def _look(self, model_id: int) -> _Found:
        until = time.monotonic() + LOOK_AGAIN_SECONDS
        if (known := self._found.get(model_id)) and known.until > time.monotonic():
            return known  # somebody else looked while this one waited for the thread
        model = LanguageModel.objects.select_related("endpoint").filter(pk=model_id).first()
        try:
            model_check(model, user_id=self.owner_id)
        except TourneyError as error:
            return _Found(until, refusal=error)
        assert model is not None
        return _Found(until, target_for(model))
