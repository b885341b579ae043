"""What callers of evaluations may catch."""

from common.errors import Conflict, NotFound, TourneyError


class EvaluationInvalid(TourneyError):
    code = "evaluation_invalid"
    message = "This run cannot be made."


class QuestionsInvalid(TourneyError):
    code = "questions_invalid"
    message = "This file cannot be read."


class QuestionSetUsed(Conflict):
    code = "question_set_used"
    message = "Runs ask these questions, so that the set stays. Delete the runs first."


class RunNotFound(NotFound):
    message = "There is no such run, or it is not yours."


class RunExists(Conflict):
    code = "run_exists"
    message = "There is a run of this name already. Choose another name, or resume it."


class VoteSetExists(Conflict):
    code = "vote_set_exists"
    message = "There are votes of this name already. Choose another name."


class ResultsNotReady(Conflict):
    code = "results_not_ready"
    message = "The results are being computed. Ask again in a few seconds; a run that is under way has them at its end."


class RunBusy(Conflict):
    code = "run_busy"
    message = "This run is under way. Wait until it has ended, or cancel it first."


class NothingToJudge(Conflict):
    code = "nothing_to_judge"
    message = (
        "There is nothing to judge: no conversation that has ended, or no two of one scenario that differ in one model."
    )
