"""What callers of the battles app may catch. None of these sentences may tell a model."""

from common.errors import Conflict, NotAllowed, TourneyError


class PromptInvalid(TourneyError):
    code = "prompt_invalid"
    message = "Please write a prompt."


class FrameInvalid(TourneyError):
    code = "frame_invalid"
    message = "This message was not understood."


class TooFewModels(TourneyError):
    code = "too_few_models"
    status = 503
    message = "Fewer than two models can be reached at the moment. Please try again in a minute."


class ModelsInvalid(TourneyError):
    code = "models_invalid"
    message = "Please choose two different models that are active."


class StillAnswering(Conflict):
    code = "still_answering"
    message = "An answer is still being written. Wait for it, or stop it."


class SideGone(Conflict):
    code = "side_gone"
    message = "One of the two is no longer available, so this battle cannot go on. You can still vote on its answers."


class NotVotable(Conflict):
    code = "not_votable"
    message = "There is nothing to vote on: both sides must have answered."


class AlreadyVoted(Conflict):
    code = "already_voted"
    message = "You have voted on this battle already. Your first vote counts."


class AlreadyJudged(Conflict):
    code = "already_judged"
    message = "This answer was judged already, so it stays as it is."


class NotRevealed(NotAllowed):
    code = "not_revealed"
    message = "Vote first: a battle can be shared once its models are known."
