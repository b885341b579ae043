"""Every place in the database that points to a person: what becomes of it with the account, and where it is in the
person's own export. A test compares this list with all models, so that a new one cannot be forgotten."""

from dataclasses import dataclass
from enum import Enum


class Fate(Enum):
    """What happens to a row when its person is erased."""

    ERASED = "goes with the account"
    FORGOTTEN = "stays for the sums, and forgets who it was"


@dataclass(frozen=True, slots=True)
class Place:
    """`export` is the file of the export, empty where `why` says why it is in none."""

    fate: Fate
    export: str = ""
    why: str = ""


OPERATORS = "what the operator's checks found; to show it would tell how to get past them"
COPY = "a copy of what other files hold, kept for a day"

PERSONAL: dict[str, Place] = {
    "accounts.ApiKey.user": Place(Fate.ERASED, "keys.json"),
    "accounts.AuditEntry.actor": Place(Fate.FORGOTTEN, "deeds.json"),
    "accounts.IdempotentRequest.user": Place(Fate.ERASED, why=COPY),
    "accounts.Job.owner": Place(Fate.ERASED, "jobs.json"),
    "account.EmailAddress.user": Place(Fate.ERASED, "account.json"),
    "admin.LogEntry.user": Place(Fate.ERASED, why="the audit log holds the same"),
    "battles.Battle.owner": Place(Fate.ERASED, "battles.json"),
    "battles.Image.owner": Place(Fate.ERASED, "images/"),
    "battles.Preference.voter": Place(Fate.ERASED, "battles.json"),
    "battles.Reaction.user": Place(Fate.ERASED, "reactions.json"),
    "conversations.Conversation.owner": Place(Fate.ERASED, "conversations.json"),
    "conversations.ConversationPair.voter": Place(Fate.ERASED, "conversation_votes.json"),
    "conversations.Experiment.owner": Place(Fate.ERASED, "experiments.json"),
    "conversations.Scenario.owner": Place(Fate.ERASED, "scenarios.json"),
    "evaluations.Run.owner": Place(Fate.ERASED, "evaluations.json"),
    "evaluations.TalkJudgment.owner": Place(Fate.ERASED, "conversation_judgments.json"),
    "evaluations.VoteSet.owner": Place(Fate.ERASED, "vote_sets.json"),
    "leaderboard.Comparison.voter": Place(Fate.FORGOTTEN, why="what follows from the votes in battles.json"),
    "leaderboard.Snapshot.person": Place(Fate.ERASED, "ranking.json"),
    "leaderboard.VoterScore.voter": Place(Fate.ERASED, why=OPERATORS),
    "providers.CachedAnswer.served_to": Place(Fate.ERASED, why="answers that battles.json holds"),
    "providers.Usage.user": Place(Fate.FORGOTTEN, "usage.json"),
}
