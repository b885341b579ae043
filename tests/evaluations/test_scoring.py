"""Tables of scores and games on what a reader can add up."""

import pytest

from evaluations.scoring import Game, Score, games_table, orders, paired_difference, scores_table, spread


def score(model: str, question: int, turn: int, value: float, category: str = "math") -> Score:
    return Score(model, question, category, turn, value)


def game(first: int | None, second: int | None, one: str = "x", two: str = "y") -> Game:
    return Game(one, two, 1, "math", 1, first, second)


def test_the_mean_is_over_all_turns() -> None:
    line = scores_table([score("x", 1, 1, 10), score("x", 1, 2, 4), score("x", 2, 1, 7)])[0]
    assert line.overall.mean == 7
    assert line.overall.std == pytest.approx(3)
    assert line.turns[1].mean == 8.5
    assert line.turns[2].mean == 4
    assert line.overall.count == 3


def test_models_whose_intervals_overlap_share_a_rank() -> None:
    scores = [score(m, q, 1, base + q % 3) for m, base in (("x", 7), ("y", 7), ("z", 1)) for q in range(20)]
    assert {line.model: line.rank for line in scores_table(scores)} == {"x": 1, "y": 1, "z": 3}


def test_a_game_is_won_only_where_both_orders_agree() -> None:
    lines = {line.model: line for line in games_table([game(1, 1), game(1, 2), game(0, 2), game(None, 1)])}
    assert (lines["x"].wins, lines["x"].losses, lines["x"].ties) == (1, 0, 2)
    assert lines["y"].win_rate_adjusted == pytest.approx(1 / 3)


def test_the_table_against_a_baseline_leaves_it_out() -> None:
    games = [game(1, 1, "x", "base"), game(2, 2, "x", "y")]
    assert [(line.model, line.wins) for line in games_table(games, baseline="base")] == [("x", 1)]


def test_orders_tell_flips_from_half_ties_and_errors() -> None:
    found = orders([game(1, 1), game(1, 2), game(0, 1), game(0, 0), game(None, 2)])
    assert (found.consistent, found.flipped, found.half_ties, found.errors) == (2, 1, 1, 1)
    assert found.first_share == pytest.approx(4 / 6)
    assert found.flipped_share == 1 / 4, "a game without one of its verdicts tells nothing of flips"


def test_a_paired_difference_is_over_shared_questions() -> None:
    first = [score("x", q, 1, 5) for q in range(10)]
    second = [score("x", q, 1, 6) for q in range(5, 12)]
    assert paired_difference(first, second) == (1, 1, 1)
    with pytest.raises(ValueError, match="in common"):
        paired_difference(first[:1], second)


def test_repeated_scores_have_a_spread() -> None:
    assert spread([score("x", 1, 1, 4), score("x", 1, 1, 8), score("x", 2, 1, 5)]) == pytest.approx(2.8284, abs=1e-4)
    assert spread([score("x", 1, 1, 4)]) is None
