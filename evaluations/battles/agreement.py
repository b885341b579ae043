"""How far judges agree with the people who voted on our own battles. Reads only, and only what people share today."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from evaluations.agreement import Agreement, Share, Vote, agreement_by
from evaluations.battles.judging import judged_battles
from evaluations.models import BattleJudgment
from evaluations.scoring import Game, orders
from evaluations.selectors import SIDES
from evaluations.verdicts import State

SIDE_NAMES = {"a": "model_a", "b": "model_b", "tie": "tie", "both_bad": "tie"}
VERDICTS = {1: "model_a", 2: "model_b", 0: "tie"}


def battle_votes() -> tuple[list[Vote], dict[str, list[Game]]]:
    """People's votes beside the verdicts of judges, one for each vote and judge that gave one in both orders; and by
    judge all that it judged, in both orders."""
    said: dict[tuple[object, ...], dict[str, dict[int, BattleJudgment]]] = defaultdict(lambda: defaultdict(dict))
    rows = BattleJudgment.objects.select_related("judge", "model_a", "model_b").defer("text", "reasoning")
    for row in rows.order_by("pk"):
        said[row.battle_id, row.label_a, row.label_b][row.judge.name][row.game] = row
    found: list[Vote] = []
    games: dict[str, list[Game]] = defaultdict(list)
    if not said:
        return found, games
    for one in judged_battles():
        for judge, by_game in said.get(one.key, {}).items():
            row = next(iter(by_game.values()))
            first, second = (_side(by_game.get(game)) for game in (1, 2))
            names = row.model_a.name, row.model_b.name
            game = Game(*names, 0, one.category, row.turns, first, second)
            games[judge].append(game)
            if game.outcome is not None:
                found.append(
                    Vote(
                        question=str(one.battle_id),
                        category=one.category,
                        turn=row.turns,
                        model_a=names[0],
                        model_b=names[1],
                        person=one.person,
                        person_says=SIDE_NAMES[one.person_says],
                        judge=judge,
                        judge_says=VERDICTS[game.outcome],
                    )
                )
    return found, games


def battle_agreement() -> dict[str, dict[str, Any]]:
    """Of each judge: agreement with people with and without ties, Cohen's kappa, how often the order of the answers
    flipped its verdict, and the same by category. Shares are from 0 to 1; both bad counts as a tie."""
    votes, games = battle_votes()
    whole = agreement_by(votes, "judge")
    by_category = agreement_by(votes, "judge", "category")
    return {
        judge: _described(whole.get((judge,)), own)
        | {"categories": {str(key[1]): _described(value, ()) for key, value in by_category.items() if key[0] == judge}}
        for judge, own in sorted(games.items())
    }


def _side(row: BattleJudgment | None) -> int | None:
    return SIDES[row.winner] if row is not None and row.state == State.OK else None


def _described(found: Agreement | None, games: Iterable[Game]) -> dict[str, Any]:
    both = orders(games)
    none = Share(0, 0)
    described = {
        "votes": found.with_ties.of if found else 0,
        "with_ties": _share(found.with_ties if found else none),
        "without_ties": _share(found.without_ties if found else none),
        "kappa": found.kappa if found else None,
    }
    if both.games:
        described |= {"flipped_share": both.flipped_share, "first_shown_share": both.first_share}
    return described


def _share(share: Share) -> dict[str, Any]:
    return {"agreed": share.agreed, "of": share.of, "rate": share.rate, "interval": share.interval}
