"""What is judged: one conversation, or all of an experiment."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from accounts.models import User
from common.errors import NotFound
from conversations.experiments.selectors import experiment_get
from conversations.models import Conversation
from conversations.state import title_of

KEYS = {"experiment": "experiment", "conversation": "pk"}


@dataclass(frozen=True, slots=True)
class Subject:
    """`parameters` are those of a job that name it."""

    name: str
    parameters: dict[str, str]


def subject_of(*, owner: User, experiment_id: UUID | None = None, conversation_id: UUID | None = None) -> Subject:
    """A person's own experiment or conversation. Raises NotFound."""
    if experiment_id is not None:
        experiment = experiment_get(experiment_id=experiment_id, viewer=owner)
        return Subject(experiment.name, {"experiment": str(experiment_id)})
    own = Conversation.objects.kept().select_related("scenario").filter(owner=owner)
    conversation = own.filter(pk=conversation_id).first() if conversation_id else None
    if conversation is None:
        raise NotFound
    return Subject(title_of(conversation), {"conversation": str(conversation_id)})


def subject_filter(parameters: dict[str, Any], path: str = "") -> dict[str, str]:
    """What leaves only its conversations of a queryset that reaches them by `path`."""
    return {f"{path}{column}": parameters[key] for key, column in KEYS.items() if key in parameters}
