"""What callers of the leaderboard may catch."""

from common.errors import TourneyError


class NotSupportedYet(TourneyError):
    """A parameter that the contract names and this version cannot serve; `fields` says which."""

    code = "not_supported"
    message = "This is not possible yet."


class ComparisonInvalid(TourneyError):
    code = "comparison_invalid"
    message = "A comparison needs two different models, a known outcome and a weight above 0."
