"""What leaves the server as training data: whose, which, and in which shape."""

import csv
import gzip
import io
import json
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import Group

from battles.ballots import comparisons_rebuild
from battles.exports.export import Export, votes_estimated
from battles.exports.selection import Selection
from battles.models import Battle, Preference, Reaction, Response
from leaderboard.boards import comparisons_of
from leaderboard.models import Board
from tests import factories

pytestmark = [
    pytest.mark.django_db,
    # A test client without a loop reads the stream to its end; the server does not.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
]


def vote(choice: str = "winner", winner: str = "a", *, turns: int = 1, **fields: Any) -> Preference:
    """A battle of someone who shares, judged."""
    asked = {"prompts": [f"Question {number}?" for number in range(1, turns + 1)]} | fields.pop("battle_fields", {})
    battle = fields.pop("battle", None) or factories.battle(**asked)
    side = battle.sides.get(label=winner) if choice == "winner" else None
    values = {"voter": battle.owner, "choice": choice, "winner": side, "turns": turns} | fields
    return Preference.objects.create(battle=battle, **values)


def exported(kind: str = "dpo", **filters: Any) -> list[dict[str, Any]]:
    export = Export(kind=kind, format="jsonl", selection=Selection(owner_id=filters.pop("owner_id", None), **filters))
    return [json.loads(line) for line in b"".join(export.pieces()).splitlines()]


def get(client: Any, kind: str = "dpo", **asked: Any) -> tuple[Any, bytes]:
    response = client.get(f"/api/v1/exports/{kind}/", asked)
    return response, b"".join(iter(response)) if response.streaming else response.content


def test_a_vote_becomes_a_pair_of_prompt_chosen_and_rejected(api_client: Any) -> None:
    vote(winner="b")
    response, body = get(api_client())
    (row,) = [json.loads(line) for line in body.splitlines()]
    assert (row["prompt"], row["chosen"], row["rejected"]) == (
        "Question 1?",
        "Answer 1 of side b.",
        "Answer 1 of side a.",
    )
    assert response.headers["Content-Disposition"] == 'attachment; filename="dpo.jsonl"'


def test_conversational_pairs_are_lists_of_messages() -> None:
    vote(battle_fields={"system_prompt": "Be kind."})
    (row,) = exported(shape="conversational")
    assert row["prompt"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Question 1?"}]
    assert row["chosen"] == [{"role": "assistant", "content": "Answer 1 of side a."}]


def test_a_key_that_is_not_an_administrators_exports_its_own_votes_only(api_client: Any) -> None:
    own = vote()
    vote()
    _, body = get(api_client(own.voter, scopes=("export",)))
    assert len(body.splitlines()) == 1
    refused, _ = get(api_client(own.voter, scopes=("read",)))
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "fields",
    [{"exclusion": "duplicate"}, {"withdrawn_at": "2026-01-01T00:00Z"}, {"choice": "tie"}, {"choice": "both_bad"}],
)
def test_a_vote_that_does_not_count_or_names_no_winner_gives_no_pair(fields: dict[str, Any]) -> None:
    vote(**fields)
    assert exported() == []


def test_who_does_not_share_and_who_deleted_are_left_out() -> None:
    secret = vote()
    secret.voter.shares_data = False
    secret.voter.save()
    gone = vote()
    Battle.objects.filter(pk=gone.battle_id).update(deleted_at="2026-01-01T00:00Z")
    for kind in ("dpo", "kto", "reward", "battles"):
        assert exported(kind) == []


@pytest.mark.parametrize(
    "change", [{"finish_reason": "length"}, {"status": "failed"}, {"status": "stopped"}, {"text": " "}]
)
def test_an_answer_that_failed_or_was_cut_is_no_example(change: dict[str, Any]) -> None:
    one = vote()
    Response.objects.filter(turn__battle=one.battle, side__label="b").update(**change)
    assert exported() == []
    assert exported("battles") == []


def test_a_vote_on_several_turns_is_a_trajectory_or_nothing() -> None:
    vote(turns=2)
    assert exported() == []
    assert exported("kto") == []
    (row,) = exported(shape="conversational", trajectories=True)
    assert [message["role"] for message in row["chosen"]] == ["assistant", "user", "assistant"]
    assert [message["content"] for message in row["prompt"]] == ["Question 1?"]


def test_histories_that_are_equal_make_a_pair_of_the_last_turn() -> None:
    one = vote(turns=2)
    Response.objects.filter(turn__battle=one.battle, turn__number=1).update(text="The same.")
    (row,) = exported(shape="conversational")
    assert [message["content"] for message in row["prompt"]] == ["Question 1?", "The same.", "Question 2?"]


def test_the_same_pair_is_exported_once() -> None:
    vote()
    vote()
    assert len(exported()) == 1


def test_agreement_asks_for_votes_and_their_majority() -> None:
    for winner in "aab":
        vote(winner=winner)
    assert exported(minimum_votes=4) == []
    assert exported(minimum_votes=3, majority=0.7) == []
    assert [row["chosen"] for row in exported(minimum_votes=3, majority=0.6)] == ["Answer 1 of side a."]


def test_kto_takes_likes_and_only_where_asked_ties_and_both_bad() -> None:
    vote("tie")
    one = factories.battle(prompts=["Like?"])
    Battle.objects.filter(pk=one.pk).update(revealed_at="2026-01-01T00:00Z")
    answer = Response.objects.filter(turn__battle=one).first()
    assert answer is not None
    Reaction.objects.create(response=answer, user=one.owner, value="dislike")
    assert [(row["prompt"], row["label"]) for row in exported("kto")] == [("Like?", False)]
    assert [row["label"] for row in exported("kto", ties=True, likes=False)] == [True, True]


def test_a_like_before_the_reveal_names_no_model() -> None:
    one = factories.battle()
    answer = Response.objects.filter(turn__battle=one).first()
    assert answer is not None
    Reaction.objects.create(response=answer, user=one.owner, value="like")
    assert exported("kto", owner_id=one.owner_id) == []


def test_no_file_tells_who_voted() -> None:
    one = vote()
    person = one.voter
    person.email, person.first_name = "ada@example.org", "Ada Lovelace"
    person.save()
    for kind in ("dpo", "kto", "reward", "battles"):
        text = json.dumps(exported(kind))
        assert person.username not in text
        assert str(one.battle_id) not in text
        assert "ada" not in text.lower()


def test_both_bad_is_a_battle_in_arena_shape() -> None:
    vote("both_bad")
    (row,) = exported("battles")
    assert row["winner"] == "tie (bothbad)"
    assert row["conversation_a"][1] == {"role": "assistant", "content": "Answer 1 of side a."}


def test_csv_defuses_what_a_spreadsheet_would_run(api_client: Any) -> None:
    one = vote()
    one.battle.turns.update(prompt="=HYPERLINK(1)")
    _, body = get(api_client(), format="csv")
    (row,) = csv.DictReader(io.StringIO(body.decode()))
    assert row["prompt"] == "'=HYPERLINK(1)"


def test_parquet_has_its_schema_with_and_without_rows(api_client: Any) -> None:
    from pyarrow import parquet

    _, empty = get(api_client(), format="parquet", shape="conversational")
    assert parquet.read_table(io.BytesIO(empty)).num_rows == 0
    vote()
    _, body = get(api_client(), format="parquet", shape="conversational")
    table = parquet.read_table(io.BytesIO(body))
    assert table.to_pylist()[0]["chosen"] == [{"role": "assistant", "content": "Answer 1 of side a."}]


def test_filters_that_leave_nothing_give_a_header_and_say_so(api_client: Any) -> None:
    response, body = get(api_client(), format="csv", category="math")
    assert body.decode().startswith("prompt,chosen,rejected,")
    assert "Nothing fits" in response.headers["X-Message"]


def test_a_bundle_has_data_manifest_and_card(api_client: Any) -> None:
    vote()
    vote("tie")
    _, body = get(api_client(), bundle="zip")
    archive = zipfile.ZipFile(io.BytesIO(body))
    assert set(archive.namelist()) == {"dpo.jsonl", "manifest.json", "README.md"}
    told = json.loads(archive.read("manifest.json"))
    assert (told["rows"], told["skipped"]) == (1, {"tie": 1})
    assert archive.read("README.md").startswith(b"---\n")


def test_gzip_comes_as_a_file_or_as_an_encoding(api_client: Any) -> None:
    vote()
    response, body = get(api_client(), gzip="1")
    assert json.loads(gzip.decompress(body))["prompt"] == "Question 1?"
    assert "Content-Encoding" not in response.headers
    response = api_client().get("/api/v1/exports/dpo/", HTTP_ACCEPT_ENCODING="gzip")
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(b"".join(iter(response))))["prompt"] == "Question 1?"


@pytest.mark.parametrize("asked", [{"format": "xls"}, {"board": "nowhere"}, {"majority": 2}, {"trajectories": "1"}])
def test_what_cannot_be_is_refused_before_the_file_begins(api_client: Any, asked: dict[str, Any]) -> None:
    response, _ = get(api_client(), **asked)
    assert response.status_code == 400


def test_the_number_of_queries_does_not_grow_with_votes_and_likes(django_assert_max_num_queries: Any) -> None:
    for number in range(3):
        one = vote("tie", battle_fields={"prompts": [f"Number {number}?"]})
        Battle.objects.filter(pk=one.battle_id).update(revealed_at="2026-01-01T00:00Z")
    for answer in Response.objects.all():
        Reaction.objects.create(response=answer, user=answer.turn.battle.owner, value="like")
    # Two kinds of portions: rows, turns, images and answers of each, and an empty portion at the end.
    with django_assert_max_num_queries(10):
        assert len(exported("kto")) == 6


def test_comments_leave_only_where_they_were_asked_for() -> None:
    vote(comment="I am Ada and I like it.")
    for kind in ("dpo", "kto", "reward", "battles"):
        assert "Ada" not in json.dumps(exported(kind))
    assert [row["comment"] for row in exported(comments=True)] == ["I am Ada and I like it."]


BOARDS: list[tuple[dict[str, Any], int]] = [
    ({}, 2),
    ({"blind_only": False}, 3),
    ({"category": "coding"}, 1),
    ({"language": "de"}, 1),
    ({"modes": ["named"], "blind_only": False}, 1),
    ({"sources": ["battle"]}, 2),
    ({"sources": ["judge"]}, 0),
    ({"imported_as": "elsewhere"}, 0),
    ({"until": "2020-01-01T00:00Z"}, 0),
]


@pytest.mark.parametrize(("fields", "rows"), BOARDS)
def test_a_board_means_here_what_it_means_there(fields: dict[str, Any], rows: int) -> None:
    vote(battle_fields={"category": "coding"})
    vote(battle_fields={"language": "de", "prompts": ["Frage?"]})
    vote(battle_fields={"mode": "named", "prompts": ["Named?"]})
    comparisons_rebuild()
    board = Board.objects.create(slug="one", name="One", **fields)
    board.refresh_from_db()
    assert len(exported(board="one")) == len(exported("comparisons", board="one")) == rows
    assert comparisons_of(board).count() == rows
    assert votes_estimated(kind="dpo", selection=Selection(owner_id=None, board="one")) == (rows, False)


def test_a_board_of_a_group_exports_the_votes_of_its_people() -> None:
    member = vote()
    vote(battle_fields={"prompts": ["Another?"]})
    comparisons_rebuild()
    group = Group.objects.create(name="Class")
    group.user_set.add(member.voter)
    Board.objects.create(slug="class", name="Class", group=group)
    assert len(exported(board="class")) == 1


def test_a_hidden_board_is_not_there_for_others_than_staff(api_client: Any) -> None:
    Board.objects.create(slug="secret", name="Secret", is_public=False)
    assert get(api_client(factories.user(), scopes=("export",)), board="secret")[0].status_code == 400
    assert get(api_client(), board="secret")[0].status_code == 200
