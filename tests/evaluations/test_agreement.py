"""Agreement of judges and people, on cases that a reader can check by hand and on the published votes."""

from pathlib import Path

import pytest

from evaluations.agreement import (
    Share,
    agreement,
    agreement_by,
    cohen_kappa,
    krippendorff_alpha,
    length_bias,
    self_preference,
    votes_read,
)


@pytest.fixture
def votes_file(shared_data: Path) -> str:
    return (shared_data / "mt_bench" / "human_vs_gpt4_votes.csv").read_text()


def test_the_published_votes_give_the_published_agreement(votes_file: str) -> None:
    by_turn = agreement_by(votes_read(votes_file), "turn")
    assert by_turn[1,].with_ties == Share(589, 882)
    assert by_turn[1,].without_ties == Share(471, 549)
    assert by_turn[2,].with_ties == Share(590, 869)
    assert by_turn[2,].without_ties == Share(486, 569)


def test_kappa_of_a_worked_example() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, by chance 0.5."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([]) is None
    assert cohen_kappa([("y", "y")]) is None


def test_alpha_of_krippendorffs_own_examples() -> None:
    """Krippendorff (2011), section C: four observers, twelve units, missing data."""
    table = ["11.1", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", ".555", "..11", ".3.."]
    units = [[float(value) for value in unit if value != "."] for unit in table]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, metric="interval") == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None


def test_ties_of_every_kind_are_one() -> None:
    found = agreement([("tie", "tie (inconsistent)"), ("model_a", "model_a"), ("model_a", "tie")])
    assert found.with_ties == Share(2, 3)
    assert found.without_ties == Share(1, 1)


def test_biases() -> None:
    assert length_bias([(10, 5, 1), (5, 10, 1), (5, 10, 0), (7, 7, 2), (1, 9, 2)]) == Share(2, 3)
    assert self_preference([(True, 1.0), (False, 0.0), (False, 0.5)]) == pytest.approx(0.75)
    assert self_preference([(False, 0.0)]) is None


def test_a_votes_table_without_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1"):
        votes_read("question_id,turn\n1,1\n")
