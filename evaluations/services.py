"""Every write of evaluations."""

from evaluations.battles.judging import battles_judge, battles_judge_start
from evaluations.deleting import run_delete
from evaluations.fastchat.exporting import run_export
from evaluations.fastchat.importing import run_import
from evaluations.judge_prompts import judge_prompts_store
from evaluations.questions.loading import (
    question_set_delete,
    question_set_store,
    questions_import,
    questions_seed,
    reference_correct,
)
from evaluations.questions.uploads import questions_upload, questions_upload_confirm
from evaluations.reading.battles import battle_report_refresh
from evaluations.reading.run_pairs import run_pair_get, run_pair_refresh
from evaluations.reading.summaries import summary_refresh, summary_want
from evaluations.reading.votes import vote_set_delete, vote_set_refresh, votes_import
from evaluations.running import (
    judge_prompts_seed,
    run_cancel,
    run_clear_failed,
    run_create,
    run_do,
    run_extend,
    run_rejudge,
    run_start,
)

__all__ = [
    "battle_report_refresh",
    "battles_judge",
    "battles_judge_start",
    "judge_prompts_seed",
    "judge_prompts_store",
    "question_set_delete",
    "question_set_store",
    "questions_import",
    "questions_seed",
    "questions_upload",
    "questions_upload_confirm",
    "reference_correct",
    "run_cancel",
    "run_clear_failed",
    "run_create",
    "run_delete",
    "run_do",
    "run_export",
    "run_extend",
    "run_import",
    "run_pair_get",
    "run_pair_refresh",
    "run_rejudge",
    "run_start",
    "summary_refresh",
    "summary_want",
    "vote_set_delete",
    "vote_set_refresh",
    "votes_import",
]
