"""What can go wrong with a model, in one sentence for each kind; none repeats the upstream's own words."""

from common.errors import TourneyError
from providers.adapters.base import ErrorKind

SENTENCES: dict[ErrorKind, str] = {
    ErrorKind.AUTH: "The service did not accept our key. An administrator must check the endpoint.",
    ErrorKind.RATE_LIMIT: "The service has too much to do for us at the moment. Try again in a minute.",
    ErrorKind.TIMEOUT: "The answer took too long. Try again.",
    ErrorKind.CONNECTION: "The model could not be reached, or the connection was lost. Try again in a moment.",
    ErrorKind.BAD_REQUEST: "The service refused the request. An administrator must check the model.",
    ErrorKind.CONTENT_FILTER: "The service refused to answer this. Try another prompt.",
    ErrorKind.CONTEXT_LENGTH: "The conversation is too long for this model. Start a new one, or shorten the prompt.",
    ErrorKind.UPSTREAM: "The service failed. Try again.",
    ErrorKind.CANCELLED: "The answer was stopped.",
}


class BudgetSpent(TourneyError):
    """Said before anything is asked."""

    code = "budget_spent"
    status = 402
    message = "The budget for this month is spent."


class EndpointBudgetSpent(BudgetSpent):
    """Tells something about a model: a blind battle must say it in other words."""

    message = "The budget of one of these models is spent for this month. Choose others."
