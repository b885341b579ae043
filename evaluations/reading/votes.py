"""People's votes held against judges: files of votes, and reports of how far the two agree.

A report is made of any `Vote`s, wherever they come from: `votes_report` is what judged battles may call, too.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User
from evaluations.agreement import TIE, Vote, agreement, agreement_by, krippendorff_alpha, votes_read
from evaluations.errors import QuestionsInvalid, VoteSetExists
from evaluations.models import PersonVote, Run, VoteSet
from evaluations.reading.judging import Judged, agreed, judged_of

VERDICTS = ("model_a", "model_b", TIE)
BATCH = 1000
# A file is read and reported on in a request, which every two people on the same pair cost time.
FILE_MAX_BYTES = 4 * 2**20
VOTES_MAX = 20_000
PEOPLE_MAX = 100  # on one pair in one turn
LENGTHS = {"question": 9, "category": 32, "model_a": 100, "model_b": 100, "person": 100, "judge": 100}


def votes_parse(data: bytes, name: str) -> list[Vote]:
    """Votes from a file: the joined CSV of people's and judges' votes, or FastChat's human judgments as JSON or JSON
    Lines (question_id, model_a, model_b, winner, judge, turn). Raises QuestionsInvalid with the line, or where it
    is more than a request takes."""
    if len(data) > FILE_MAX_BYTES:
        raise QuestionsInvalid(f"{name} is larger than {FILE_MAX_BYTES // 2**20} MiB. Split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QuestionsInvalid(f"{name} is not text in UTF-8.") from error
    if "\0" in text:
        raise QuestionsInvalid(f"{name} is not a text file.")
    try:
        votes = votes_read(text) if text.lstrip()[:1] not in ("{", "[") else list(_people(text))
    except ValueError as error:
        raise QuestionsInvalid(f"{name}, {error}") from error
    if not votes:
        raise QuestionsInvalid(f"{name} holds no votes.")
    if len(votes) > VOTES_MAX:
        raise QuestionsInvalid(f"{name} holds {len(votes):,} votes, more than {VOTES_MAX:,}. Split it.")
    (pair, most), *_ = Counter(_case(vote)[0] for vote in votes).most_common(1)
    if most > PEOPLE_MAX:
        raise QuestionsInvalid(f"{name}: question {pair[0]} has {most:,} votes on one pair, more than {PEOPLE_MAX}.")
    for vote in votes:
        row = asdict(vote)
        if not vote.question.isdecimal() or any(len(row[key]) > limit for key, limit in LENGTHS.items()):
            raise QuestionsInvalid(f"{name}: question {vote.question[:20]} has no number, or a name that is too long.")
    return votes


def _people(text: str) -> Iterable[Vote]:
    """Raises ValueError with the line, or the row's place in a JSON list."""
    if text.lstrip().startswith("["):
        rows = list(enumerate(json.loads(text), start=1))
    else:
        rows = [(number, _loaded(number, line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, row in rows:
        values = row if isinstance(row, dict) else {}
        judge = values.get("judge")
        person = str(judge[0]) if isinstance(judge, list) and judge else judge
        says, turn = str(values.get("winner", "")), values.get("turn", 1)
        texts = [values.get("model_a"), values.get("model_b"), person]
        if not all(isinstance(one, str) and one for one in texts) or "question_id" not in values:
            raise ValueError(f"line {number}: question_id, model_a, model_b and judge are needed.")
        says = TIE if says.startswith(TIE) else says
        if says not in VERDICTS or isinstance(turn, bool) or not isinstance(turn, int) or not 1 <= turn <= 1000:
            raise ValueError(f"line {number}: the turn must be a number, and the winner model_a, model_b or tie.")
        yield Vote(
            question=str(values["question_id"]), category=str(values.get("category", "")), turn=turn,
            model_a=str(texts[0]), model_b=str(texts[1]), person=str(person), person_says=says, judge="", judge_says="",
        )  # fmt: skip


def _loaded(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number}: this is not JSON.") from error


@transaction.atomic
def votes_import(
    *, owner: User, name: str, data: bytes, file_name: str = "the file", run: Run | None = None
) -> VoteSet:
    """Keep a file's votes. With `run`, votes that no judge's verdict stands beside are held against those of the run.

    Raises QuestionsInvalid with the line, VoteSetExists; then nothing was kept.
    """
    votes = votes_parse(data, file_name)
    try:
        with transaction.atomic():
            vote_set = VoteSet.objects.create(name=name, owner=owner, run=run)
    except IntegrityError:
        raise VoteSetExists from None
    rows = (PersonVote(vote_set=vote_set, **(asdict(vote) | {"question": int(vote.question)})) for vote in votes)
    PersonVote.objects.bulk_create(rows, batch_size=BATCH)
    return vote_set_refresh(vote_set=vote_set)


def vote_set_delete(*, vote_set: VoteSet) -> None:
    """Forget a file's votes, and what was made of them."""
    vote_set.delete()


def vote_set_refresh(*, vote_set: VoteSet) -> VoteSet:
    """Compute the report anew: after an import, and when the run's judgments have changed."""
    votes = [
        Vote(
            question=str(row.question), category=row.category, turn=row.turn, model_a=row.model_a, model_b=row.model_b,
            person=row.person, person_says=row.person_says, judge=row.judge, judge_says=row.judge_says,
        )
        for row in vote_set.votes.order_by("pk")
    ]  # fmt: skip
    if vote_set.run is not None:
        votes = beside(votes, judged_of(vote_set.run), _categories(vote_set.run))
    vote_set.report = votes_report(votes)
    vote_set.save(update_fields=["report"])
    return vote_set


def _categories(run: Run) -> dict[str, str]:
    return {str(number): name for number, name in run.question_set.questions.values_list("number", "category")}


def beside(votes: Iterable[Vote], judged: dict[str, Judged], categories: dict[str, str]) -> list[Vote]:
    """Each vote once for each judge with a verdict on the same pair: who won the game, or whose mean grade is higher.
    Votes that come with a judge of their own, or that no judge has judged, stay as they are."""
    found = []
    sides = {name: (said.winners, said.grades) for name, said in judged.items()}
    for vote in votes:
        category = vote.category or categories.get(vote.question, "")
        own = Vote(**(asdict(vote) | {"category": category}))
        verdicts = {} if vote.judge_says else {name: _verdict(vote, *said) for name, said in sides.items()}
        told = {name: says for name, says in verdicts.items() if says}
        found += [Vote(**(asdict(own) | {"judge": name, "judge_says": says})) for name, says in told.items()] or [own]
    return found


def _verdict(vote: Vote, winners: dict[Any, str], grades: dict[Any, float]) -> str:
    number = int(vote.question)
    if says := winners.get((vote.model_a, vote.model_b, number, vote.turn)):
        return says
    if says := winners.get((vote.model_b, vote.model_a, number, vote.turn)):
        return {"model_a": "model_b", "model_b": "model_a"}.get(says, says)
    one, two = (grades.get((model, number, vote.turn)) for model in (vote.model_a, vote.model_b))
    if one is None or two is None:
        return ""
    return TIE if one == two else "model_a" if one > two else "model_b"


def votes_report(votes: Sequence[Vote]) -> dict[str, Any]:
    """People against judges, and people against each other, as JSON may hold it: agreement with and without ties,
    Cohen's kappa, and Krippendorff's alpha over everybody who said something of the same pair."""
    judged = [vote for vote in votes if vote.judge_says]
    rows = []
    for by, names in (("", ("judge",)), ("turn", ("judge", "turn")), ("category", ("judge", "category"))):
        for key, found in agreement_by(judged, *names).items():
            rows.append({"judge": key[0], "by": by, "value": str(key[1]) if by else "", **agreed(found)})
    cases: dict[tuple[Any, ...], dict[str, str]] = defaultdict(dict)
    for vote in votes:
        key, turned = _case(vote)
        cases[key][f"person {vote.person}"] = _turned(vote.person_says, turned)
        if vote.judge_says:
            cases[key][f"judge {vote.judge}"] = _turned(vote.judge_says, turned)
    people = [
        pair
        for said in cases.values()
        for pair in combinations([says for who, says in sorted(said.items()) if who.startswith("person ")], 2)
    ]
    persons = {(vote.person, *_case(vote)[0]) for vote in votes}
    return {
        "votes": len(persons),
        "people": len({vote.person for vote in votes}),
        "judges": sorted({vote.judge for vote in judged}),
        "unjudged": len(persons - {(vote.person, *_case(vote)[0]) for vote in judged}),
        "rows": rows,
        "people_agree": agreed(agreement(people)),
        "alpha": krippendorff_alpha([tuple(said.values()) for said in cases.values()]),
        "says": dict(sorted(Counter(_plain(vote.person_says) for vote in votes).items())),
    }


def _case(vote: Vote) -> tuple[tuple[Any, ...], bool]:
    """The pair whatever its order, and whether it was turned round."""
    turned = vote.model_a > vote.model_b
    one, two = sorted((vote.model_a, vote.model_b))
    return (vote.question, vote.turn, one, two), turned


def _plain(says: str) -> str:
    return TIE if says.startswith(TIE) else says


def _turned(says: str, turned: bool) -> str:
    plain = _plain(says)
    return {"model_a": "model_b", "model_b": "model_a"}.get(plain, plain) if turned else plain
