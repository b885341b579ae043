"""What callers of the leaderboard may catch."""

from common.errors import NotFound, TourneyError


class BoardMissing(NotFound):
    message = "There is no such board."


class MethodMissing(TourneyError):
    """The snapshot does not hold what was asked for: the votes do not allow it, or it is still being computed."""

    code = "method_missing"
    message = "These votes do not allow this method yet. Rankings need line-ups, style control needs answers' texts."


class ComparisonInvalid(TourneyError):
    code = "comparison_invalid"
    message = "A comparison needs two different models, a known outcome and a weight above 0."
