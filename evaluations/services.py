"""Every write of evaluations."""

from evaluations.exporting import run_export
from evaluations.importing import run_import
from evaluations.questions import judge_prompts_store, questions_import

__all__ = ["judge_prompts_store", "questions_import", "run_export", "run_import"]
