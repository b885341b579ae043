"""Every write of evaluations."""

from evaluations.exporting import run_export
from evaluations.importing import run_import
from evaluations.questions import judge_prompts_store, questions_import, questions_seed
from evaluations.running import (
    judge_prompts_seed,
    run_cancel,
    run_clear_failed,
    run_create,
    run_do,
    run_extend,
    run_start,
)

__all__ = [
    "judge_prompts_seed",
    "judge_prompts_store",
    "questions_import",
    "questions_seed",
    "run_cancel",
    "run_clear_failed",
    "run_create",
    "run_do",
    "run_export",
    "run_extend",
    "run_import",
    "run_start",
]
