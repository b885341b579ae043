"""What people said of an experiment's conversations, by the two models that each vote was about."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from conversations.comparing.services import SOURCE
from conversations.experiments.analysing import Fact, summarise
from conversations.models import ConversationPair, Experiment
from leaderboard.models import Comparison

# What a vote is worth to the first of two models; both bad says nothing of which is better.
WORTH = {"a": 1.0, "tie": 0.5, "b": 0.0}
TURNED = {"a": "b", "b": "a"}


@dataclass(frozen=True, slots=True)
class PairVotes:
    """Two models by their slugs. `share` is that of the votes that the first has, a tie being half of one; None where
    all said that both are bad. `lower` and `upper` hold it at 95%, with whole voters drawn anew; None below three."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    both_bad: int
    voters: int
    share: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Votes:
    """Those that count: blind, not taken back, and left out by no rule."""

    votes: int
    voters: int
    pairs: list[PairVotes]


def votes_of(experiment: Experiment) -> Votes:
    """All people's votes on its conversations, the owner's included."""
    pairs = ConversationPair.objects.filter(
        conversation_a__experiment=experiment, conversation_b__experiment=experiment
    )
    pairs = pairs.exclude(decided_at=None)
    ids = list(map(str, pairs.values_list("pk", flat=True)))
    counted = Comparison.objects.counted().filter(source_kind=SOURCE, is_blind=True)
    rows: list[tuple[Any, str, str, str]] = []
    for at in range(0, len(ids), 500):  # as many as every database takes in one query
        found = counted.filter(source_id__in=ids[at : at + 500])
        rows += found.values_list("voter", "outcome", "model_a__slug", "model_b__slug")
    said: dict[tuple[str, str], list[tuple[Any, str]]] = {}
    for voter, outcome, first, second in rows:
        if second < first:
            first, second, outcome = second, first, TURNED.get(outcome, outcome)
        said.setdefault((first, second), []).append((voter, outcome))
    found_pairs = [_pair(*models, votes) for models, votes in sorted(said.items())]
    return Votes(len(rows), len({voter for voter, *_rest in rows}), found_pairs)


def _pair(first: str, second: str, votes: list[tuple[Any, str]]) -> PairVotes:
    count = Counter(outcome for _voter, outcome in votes)
    facts = [Fact("", voter, WORTH[outcome]) for voter, outcome in votes if outcome in WORTH]
    shares = summarise(facts)
    mean, lower, upper = (shares[0].mean, shares[0].lower, shares[0].upper) if shares else (None, None, None)
    voters = len({voter for voter, _outcome in votes})
    return PairVotes(first, second, count["a"], count["tie"], count["b"], count["both_bad"], voters, mean, lower, upper)
