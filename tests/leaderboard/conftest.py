"""What keeps the leaderboard's tests fast."""

import pytest

from leaderboard import extras, neighbours


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations of a size that shows whether they are there; their own tests ask for more."""
    monkeypatch.setattr(extras, "ROUNDS", 40)
    monkeypatch.setattr(neighbours, "FUTURES", 20)
