"""What goes with the data: a manifest for programs and a dataset card for people."""

from typing import Any

CARD = """---
pretty_name: "Tourney: {kind}"
tags:
- preferences
- human-feedback
{task}configs:
- config_name: default
  data_files: {data}
---

# {kind}

{rows} rows of {task_words}, exported by Tourney {version} on {created_at}.

Prompts and votes come from people who agreed to share them; names and addresses are not in the data. `voter` and
`battle` are keyed digests: equal for the same person or battle, and nothing that leads back to them. Votes that do not
count, were withdrawn or belong to a deleted battle are left out, and so are answers that failed or were cut. Rows whose
`source` is `import` come from files that an administrator imported, with the licences of those files.

{turns} Texts were written by the language models that the columns name; their licences may limit what they
may be used for. What people and models wrote is not checked, and may be wrong or offensive.

`manifest.json` has the filters, the columns and what was left out, by reason.
"""
FIRST_TURNS = (
    "After the first turn the two sides' histories differ, so a vote on several turns gives no pair over one prompt; "
    "such votes are left out."
)
TRAJECTORIES = (
    "Votes on several turns are whole trajectories: everything after the first prompt, the person's later messages "
    "included, is the completion. A trainer that learns from pairs over one history should leave them out."
)
TASKS = {"dpo": "task_categories:\n- reinforcement-learning\n", "kto": "task_categories:\n- reinforcement-learning\n"}


def manifest(
    *, kind: str, file: str, columns: dict[str, str], filters: dict[str, Any], counts: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Everything that is needed to know what a file holds, and to make it again."""
    turns = TRAJECTORIES if filters["trajectories"] else FIRST_TURNS
    return {"kind": kind, "file": file, "columns": columns, "filters": filters, "turns": turns} | counts | more


def card(told: dict[str, Any], *, task: str) -> str:
    """README.md with the YAML front matter that the Hugging Face hub reads."""
    return CARD.format(
        kind=told["kind"],
        data=told["file"],
        rows=f"{told['rows']:,}",
        task=TASKS.get(told["kind"], ""),
        task_words=task,
        version=told["code_version"],
        created_at=told["created_at"],
        turns=told["turns"],
    )
