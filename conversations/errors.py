"""What callers of the conversations app may catch."""

from common.errors import Conflict, TourneyError


class ConversationInvalid(TourneyError):
    code = "conversation_invalid"
    message = "A conversation needs two agents and something to begin with."


class ScenarioInvalid(TourneyError):
    code = "scenario_invalid"


class FileInvalid(TourneyError):
    """What is wrong with an imported file; nothing of it was kept."""

    code = "file_invalid"


class ExperimentInvalid(TourneyError):
    code = "experiment_invalid"


class StillSpeaking(Conflict):
    code = "still_speaking"
    message = "This conversation is under way. Pause it first, or wait until it has paused."


class IsOver(Conflict):
    code = "is_over"
    message = "This conversation has had all its turns. Extend it to go on."


class NothingToRetry(Conflict):
    code = "nothing_to_retry"
    message = "There is no last turn of an agent that could be tried again."


class AgentGone(Conflict):
    code = "agent_gone"
    message = (
        "The model of this agent is not in the catalogue or cannot be asked any more, so the conversation cannot go on."
    )


class NothingToRead(Conflict):
    code = "nothing_to_read"
    message = "Nobody has said anything yet, so there is nothing to analyse."


class NoAnalyst(TourneyError):
    code = "no_analyst"
    status = 503
    message = "No model can be asked for an analysis at the moment. Please try again in a minute."


class NothingToCompare(Conflict):
    code = "nothing_to_compare"
    message = (
        "There are no two finished conversations to compare now: of one scenario with the same settings, that differ "
        "in one model, and that you have not compared yet."
    )


class AlreadyVoted(Conflict):
    code = "already_voted"
    message = "You have voted on these two conversations already."


class TooLate(Conflict):
    code = "too_late"
    message = "A vote can be taken back within 15 seconds only."
