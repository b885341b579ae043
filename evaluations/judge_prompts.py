"""How judges are asked: prompts from files, in families, each change a version. Called through the services."""

from collections.abc import Iterable

from django.db import transaction

from evaluations.fastchat.rows import Row
from evaluations.judges import template_problem
from evaluations.models import JudgePrompt
from evaluations.verdicts import RATINGS_FORM, READERS

PROMPT_TYPES = {
    "single": JudgePrompt.Kind.SINGLE, "pairwise": JudgePrompt.Kind.PAIR, "rubric": JudgePrompt.Kind.RUBRIC,
}  # fmt: skip
IMPORTED_FAMILY = "imported"
PROMPT_FAMILIES = ("fastchat", IMPORTED_FAMILY, "tourney")


@transaction.atomic
def judge_prompts_store(*, family: str, rows: Iterable[Row]) -> int:
    """Judge prompts in FastChat's format; return how many are new. One that has changed becomes a new version.

    Those that the rows say are of another family come from an export of ours. They stay apart, so that no file changes
    the prompts that judges are asked with here; what is there already is not stored again.
    """
    new = 0
    for row in rows:
        kind = PROMPT_TYPES.get(row.text("type"))
        if kind is None:
            raise row.problem(f"type must be one of {', '.join(PROMPT_TYPES)}.", "type")
        name = row.text("name", limit=100)
        template, form = row.text("prompt_template"), row.text("output_format")
        if problem := template_problem(template):
            raise row.problem(f"prompt_template: {problem}", "prompt_template")
        forms = [RATINGS_FORM] if kind == JudgePrompt.Kind.RUBRIC else list(READERS)
        if form not in forms:
            raise row.problem(f"output_format must be one of {', '.join(forms)}.", "output_format")
        is_of_others = row.text("family", default=family) != family
        if is_of_others and JudgePrompt.objects.filter(name=name, template=template, output_format=form).exists():
            continue
        is_of_fastchat = "{conversation" not in template
        scope = JudgePrompt.Scope.LATER if "question_2}" in template else JudgePrompt.Scope.FIRST
        new += judge_prompt_store(
            family=IMPORTED_FAMILY if is_of_others else family,
            name=name,
            kind=kind,
            scope=scope if is_of_fastchat else JudgePrompt.Scope.ANY,
            has_reference="{ref_answer_1}" in template or "{reference}" in template,
            system_prompt=row.text("system_prompt"),
            template=template,
            output_format=form,
            description=row.text("description", default=""),
            category=row.text("category", default=""),
        )
    return new


def judge_prompt_store(*, family: str, name: str, **fields: object) -> bool:
    """Add a prompt, or a new version of it where it differs from the newest; return whether anything was added."""
    newest = JudgePrompt.objects.filter(family=family, name=name).order_by("-version").first()
    if newest is not None and all(getattr(newest, field) == value for field, value in fields.items()):
        return False
    version = newest.version + 1 if newest else 1
    JudgePrompt.objects.create(family=family, name=name, version=version, **fields)
    return True
