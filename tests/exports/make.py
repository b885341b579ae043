"""Writes every kind, shape and format of export of a small database into a folder, for `check.py`."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["TOURNEY_VAR"] = tempfile.mkdtemp()
os.environ["DATABASE_URL"] = "sqlite:///" + os.environ["TOURNEY_VAR"] + "/exports.sqlite3"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django

django.setup()

from django.core.management import call_command

from battles.ballots import comparisons_rebuild
from battles.exports.export import Export
from battles.exports.formats import FORMATS
from battles.exports.kinds import KINDS
from battles.exports.selection import SHAPES, Selection
from battles.models import Preference
from tests import factories


def votes() -> None:
    """Sixteen judged battles; odd ones have two turns, over which whole trajectories were judged."""
    models = [factories.language_model(f"model-{name}") for name in "ab"]
    for number in range(16):
        prompts = [f"Question {number}?", "And why?"][: 1 + number % 2]
        battle = factories.battle(models=models, prompts=prompts)
        winner = battle.sides.all()[number // 2 % 2]
        Preference.objects.create(battle=battle, voter=battle.owner, choice="winner", winner=winner, turns=len(prompts))


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    votes()
    comparisons_rebuild()
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for shape in SHAPES:
            selection = Selection(owner_id=None, shape=shape, trajectories=shape == "conversational")
            for name in FORMATS:
                export = Export(kind=kind, format=name, selection=selection)
                (folder / f"{kind}-{shape}.{name}").write_bytes(b"".join(export.pieces()))
