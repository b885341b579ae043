"""What callers of the battles app may catch. None of these sentences may tell a model."""

from common.errors import Conflict, NotAllowed, TourneyError


class LabelInvalid(TourneyError):
    code = "label_invalid"
    message = "There is no such category, or this is no code of a language, such as en or pt-BR."


class PromptInvalid(TourneyError):
    code = "prompt_invalid"
    message = "Please write a prompt."


class TooFewModels(TourneyError):
    code = "too_few_models"
    status = 503
    message = "Fewer than two models can be reached at the moment. Please try again in a minute."


class TooFewSeeing(TooFewModels):
    message = (
        "Fewer than two of the models that can look at images can be reached at the moment. Take the images out, or "
        "try again in a minute."
    )


class ModelsInvalid(TourneyError):
    code = "models_invalid"
    message = "Please choose two different models that are active."


class PoolInvalid(TourneyError):
    code = "pool_invalid"
    message = "There is no such pool, or models were named beside it. A pool is for blind battles that name no models."


class ImageTooLarge(TourneyError):
    code = "too_large"
    status = 413


class ImagesInvalid(TourneyError):
    code = "images_invalid"


class ImageSent(Conflict):
    code = "image_sent"
    message = "This image was sent already, and stays with its battle."


class TooManyUnsent(Conflict):
    code = "too_many_unsent"
    message = (
        "You have many images that were not sent. Send or delete some; a day after the upload they go by themselves."
    )


class CannotSee(Conflict):
    code = "cannot_see"


class StillAnswering(Conflict):
    code = "still_answering"
    message = "An answer is still being written. Wait for it, or stop it."


class SideGone(Conflict):
    code = "side_gone"
    message = "One of the two is no longer available, so this battle cannot go on. You can still vote on its answers."


class NotVotable(Conflict):
    code = "not_votable"
    message = "There is nothing to vote on: two sides must have answered, and none may still be writing."


class ChoiceInvalid(TourneyError):
    code = "choice_invalid"
    message = "This choice is not possible in this battle."


class TooLate(Conflict):
    code = "too_late"
    message = "A vote can be taken back only for a few seconds."


class AlreadyVoted(Conflict):
    code = "already_voted"
    message = "You have voted on this battle already. Your first vote counts."


class AlreadyJudged(Conflict):
    code = "already_judged"
    message = "This answer was judged already, so it stays as it is."


class NotRevealed(NotAllowed):
    code = "not_revealed"
    message = "Vote first: a battle can be shared once its models are known."
