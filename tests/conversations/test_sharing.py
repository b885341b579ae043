"""An experiment whose conversations others compare: what they see before and after a vote, and whose votes count."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from arena_project.people.exporting import export_write
from common.errors import NotFound
from conversations import services as conversations
from conversations.comparing import selectors, services
from conversations.comparing.results import votes_of
from conversations.errors import NothingToCompare
from conversations.experiments.services import experiment_share
from conversations.models import Conversation, ConversationPair, Experiment, Scenario, Turn
from leaderboard.models import Comparison
from providers.models import LanguageModel
from tests import factories
from tests.arena_project.test_guards import ADDRESSES, METHODS
from tests.conversations.test_comparing import CLUES, everything, talk, tells
from tests.conversations.test_live import Window
from tests.live import Person
from tests.server import Server

OPENING, TITLE = "Greet the heron.", "Haggling for a heron"
LINES = ("Two hundred.", "One hundred.", "A hundred and fifty.", "Deal.")
# These pages offer every model there is, whoever looks.
CATALOGUE = {"/conversations/new/", "/conversations/experiments/new/", "/conversations/experiments/file/"}
# What is the owner's alone: their name, the name and the plan of the experiment, and how it began.
PRIVATE = ("periwinkle", "secretplan", "heron", "heronry")


@pytest.fixture
def owner(db: None) -> User:
    return factories.user("periwinkle")


@pytest.fixture
def models(db: None) -> list[LanguageModel]:
    named = [
        factories.language_model(f"slug-{word}", name=f"Name {word}", upstream_id=f"upstream/{word}")
        for word in ("zebrafish", "quokka")
    ]
    return [*named, factories.language_model("slug-zebrafish-partner")]


@pytest.fixture
def made(owner: User, models: list[LanguageModel]) -> Experiment:
    """Two finished conversations of an experiment in a scenario of its owner's, which differ in one model."""
    experiment = Experiment.objects.create(
        owner=owner, name="secretplan", grid={"models": [], "listed": [], "scenarios": ["heronry"]},
        scenario_versions={"heronry": 1},
    )  # fmt: skip
    scenario = Scenario.objects.create(
        slug="heronry", name=TITLE, category="heronry", name_a="Dana", opening=OPENING, owner=owner
    )
    for cell, model in enumerate(models[:2]):
        played(experiment, scenario, model, models[2], cell)
    return experiment


def played(made: Experiment, scenario: Scenario, one: LanguageModel, other: LanguageModel, cell: int) -> Conversation:
    assert made.owner
    row = talk(made.owner, scenario, one, other, LINES, experiment=made, cell=cell, iteration=1, seed_prompt=OPENING)
    row.refresh_from_db()
    return row


def share(made: Experiment, sharing: str = "dialogues") -> None:
    experiment_share(experiment_id=made.pk, owner=made.owner, sharing=sharing)


def drawn(voter: User) -> ConversationPair:
    """A pair that was drawn long enough ago to have been read."""
    pair = services.pair_draw(voter=voter)
    ConversationPair.objects.filter(pk=pair.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    return pair


def test_nobody_but_its_owner_compares_it_until_it_is_shared(made: Experiment, client: Client) -> None:
    reader = factories.staff()
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=reader)
    assert services.pair_draw(voter=made.owner)
    share(made)
    pair = services.pair_draw(voter=reader)
    share(made, "nobody")
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=reader)
    assert not ConversationPair.objects.filter(pk=pair.pk).exists()
    share(made)
    made.owner.is_active = False
    made.owner.save()
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=reader)


def test_before_the_vote_no_address_tells_a_reader_a_model_or_what_is_the_owners(
    made: Experiment, client: Client, api_client: Callable[..., APIClient]
) -> None:
    share(made)
    reader = factories.user()
    pair = drawn(reader)
    client.force_login(reader)
    caller = api_client(reader, ("read", "run", "vote", "export"))
    page = client.get(f"/conversations/compare/{pair.pk}/")
    assert "A hundred and fifty." in page.content.decode()
    kept = {
        "<uuid:pair_id>": [pair.pk], "<uuid:experiment_id>": [made.pk],
        "<uuid:conversation_id>": [pair.conversation_a_id, pair.conversation_b_id],
        "<slug:slug>": ["heronry"], "<uuid:analysis_id>": [made.pk],
    }  # fmt: skip
    asked = 0
    for route in ADDRESSES:
        if not route.startswith(
            ("conversations/", "api/v1/conversations/", "api/v1/experiments/", "api/v1/scenarios/")
        ):
            continue
        for at in range(2):
            path = "/" + route.replace("<slug:name>.<slug:ending>", "means.json")
            for part, values in kept.items():
                path = path.replace(part, str(values[at % len(values)]))
            if "/preference/" in path or "/vote/" in path:
                continue  # these are asked below, with nothing that could be taken for a vote
            for method in METHODS if "/api/" in path else ("get", "post"):
                if method == "delete" or (method == "post" and path.endswith(("/import/", "/new/"))):
                    continue
                answer = getattr(caller if "/api/" in path else client, method)(path)
                asked += 1
                said = everything(answer)
                assert not tells(said) or path in CATALOGUE, (method, path)
                # An address that was asked for may be said again, and the pages greet no owner.
                assert not [one for one in PRIVATE if one in said.lower().replace(path, "")], (method, path)
    assert asked > 60
    answers = [
        page,
        client.post(f"/conversations/compare/{pair.pk}/vote/", {"choice": "nonsense"}, follow=True),
        caller.post(f"/api/v1/conversations/pairs/{pair.pk}/preference/", {"choice": "nonsense"}, format="json"),
        caller.post("/api/v1/conversations/pairs/"),
        client.get("/account/"),
        client.get("/leaderboard/"),
    ]
    ids = [str(made.pk), str(pair.conversation_a_id), str(pair.conversation_b_id)]
    ids += map(str, Turn.objects.values_list("pk", flat=True))
    for answer in answers:
        said = everything(answer)
        assert not tells(said), answer.request["PATH_INFO"]
        assert not [one for one in (*ids, *PRIVATE) if one in said.lower()], answer.request["PATH_INFO"]
    file = io.BytesIO()
    export_write(file, reader, lambda done: None)
    with zipfile.ZipFile(file) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist()).decode().lower()
    assert not [one for one in (*CLUES, *PRIVATE) if one in held]
    assert not ConversationPair.objects.exclude(decided_at=None).exists()


def test_a_vote_tells_the_models_and_still_no_way_to_the_conversation(
    made: Experiment, client: Client, api_client: Callable[..., APIClient]
) -> None:
    share(made)
    reader = factories.user()
    pair = drawn(reader)
    client.force_login(reader)
    page = client.post(f"/conversations/compare/{pair.pk}/vote/", {"choice": "a"}, follow=True).content.decode()
    assert "Name zebrafish" in page
    assert "Name quokka" in page
    file = io.BytesIO()
    export_write(file, reader, lambda done: None)
    with zipfile.ZipFile(file) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert pair.model_a.slug in held
    assert not [one for one in (pair.conversation_a_id, pair.conversation_b_id) if str(one) in held]
    state = api_client(reader, ("read",)).get(f"/api/v1/conversations/pairs/{pair.pk}/").json()
    assert [one["id"] for one in state["conversations"]] == [None, None]
    assert {agent["model"] for one in state["conversations"] for agent in one["agents"]} == {
        "slug-zebrafish", "slug-quokka", "slug-zebrafish-partner"
    }  # fmt: skip
    said = page.lower() + json.dumps(state)
    for hidden in (*PRIVATE, str(pair.conversation_a_id), str(pair.conversation_b_id), str(made.pk)):
        assert hidden not in said
    assert client.get(f"/conversations/{pair.conversation_a_id}/").status_code == 404
    listed = client.get("/conversations/compare/").content.decode()
    assert f"/conversations/compare/{pair.pk}/" in listed
    share(made, "nobody")
    assert client.get(f"/conversations/compare/{pair.pk}/").status_code == 404
    listed = client.get("/conversations/compare/").content.decode()
    assert "Name zebrafish" in listed
    assert f"/conversations/compare/{pair.pk}/" not in listed
    assert Comparison.objects.counted().count() == 1


@pytest.mark.parametrize(("sharing", "of_the_library"), [("dialogues", False), ("dialogues", True), ("prompts", False)])
def test_how_it_began_is_shown_where_it_is_shared_or_everybodys(
    made: Experiment, api_client: Callable[..., APIClient], sharing: str, of_the_library: bool
) -> None:
    if of_the_library:
        Scenario.objects.update(owner=None)
    share(made, sharing)
    shown = api_client(factories.user(), ("vote", "read")).post("/api/v1/conversations/pairs/").json()
    may_know = of_the_library or sharing == "prompts"
    assert (shown["scenario"], shown["category"]) == ((TITLE, "heronry") if may_know else ("", ""))
    assert shown["seed_prompt"] == (OPENING if may_know else None)
    assert shown["is_own"] is False
    own = api_client(made.owner, ("vote", "read")).post("/api/v1/conversations/pairs/").json()
    assert (own["scenario"], own["seed_prompt"], own["is_own"]) == (TITLE, OPENING, True)


def test_each_voter_counts_and_the_owners_reading_spoils_no_vote_but_theirs(made: Experiment, client: Client) -> None:
    share(made)
    client.force_login(made.owner)
    for row in made.conversations.all():
        assert client.get(f"/conversations/{row.pk}/").status_code == 200
    voters = [factories.user() for _ in range(3)]
    for voter in (made.owner, *voters):
        services.pair_vote(pair_id=drawn(voter).pk, voter=voter, choice="tie")
    counted = Comparison.objects.counted()
    assert set(counted.filter(is_blind=True).values_list("voter", flat=True)) == {one.pk for one in voters}
    assert counted.get(is_blind=False).voter == made.owner
    assert counted.values("source_id").distinct().count() == 4


def test_who_was_told_a_model_is_not_asked_about_it_again(
    made: Experiment, models: list[LanguageModel], owner: User
) -> None:
    scenario = Scenario.objects.get(slug="heronry")
    third = factories.language_model("slug-third")
    played(made, scenario, third, models[2], 2)
    share(made)
    reader = factories.user()
    services.pair_vote(pair_id=drawn(reader).pk, voter=reader, choice="a")
    assert selectors.pair_next(reader) is None  # the third could only be shown beside one that they know
    played(made, scenario, models[0], models[2], 3)
    after = selectors.pair_next(reader)
    assert after is None or after.is_blind
    # Of one's own these come last, and do not count as blind.
    shown = [drawn(owner)]
    for _ in range(3):
        services.pair_vote(pair_id=shown[-1].pk, voter=owner, choice="a")
        if selectors.pair_next(owner) is None:
            break
        shown.append(drawn(owner))
    told: set[Any] = set()
    for pair in shown:
        ids = {pair.conversation_a_id, pair.conversation_b_id}
        assert pair.is_blind is not bool(ids & told)
        told |= ids


def test_one_that_comes_to_name_a_model_after_it_was_drawn_is_not_shown(made: Experiment, client: Client) -> None:
    share(made)
    reader = factories.user()
    pair = drawn(reader)
    Turn.objects.filter(conversation=pair.conversation_b_id, number=4).update(text="I am Name Quokka. Deal.")
    client.force_login(reader)
    assert client.get(f"/conversations/compare/{pair.pk}/").status_code == 404
    assert client.post(f"/conversations/compare/{pair.pk}/vote/", {"choice": "a"}).status_code == 404
    with pytest.raises(NothingToCompare):
        services.pair_draw(voter=reader)


def test_only_conversations_of_one_experiment_are_put_beside_each_other_for_others(
    made: Experiment, models: list[LanguageModel]
) -> None:
    last = made.conversations.order_by("cell").last()
    assert last
    Conversation.objects.filter(pk=last.pk).update(experiment=None, cell=None)
    share(made)
    assert selectors.pair_next(factories.user()) is None
    assert selectors.pair_next(made.owner)


def test_the_owner_reads_what_people_said_with_whole_voters_as_its_units(
    made: Experiment, client: Client, api_client: Callable[..., APIClient]
) -> None:
    share(made)
    for said in ("zebrafish", "zebrafish", "quokka", "tie", "both_bad"):
        voter = factories.user()
        pair = selectors.pair_whole(pair_id=drawn(voter).pk, viewer=voter)
        first = pair.conversation_a.agents.get(side="a").model_slug
        choice = said if said in ("tie", "both_bad") else "a" if said in first else "b"
        services.pair_vote(pair_id=pair.pk, voter=voter, choice=choice)
    taken_back = factories.user()
    pair = drawn(taken_back)
    services.pair_vote(pair_id=pair.pk, voter=taken_back, choice="a")
    services.pair_withdraw(pair_id=pair.pk, voter=taken_back)
    votes = votes_of(made)
    assert (votes.votes, votes.voters) == (5, 5)
    (one,) = votes.pairs
    assert (one.first, one.second) == ("slug-quokka", "slug-zebrafish")
    assert (one.wins, one.ties, one.losses, one.both_bad, one.voters) == (1, 1, 2, 1, 5)
    assert one.share == pytest.approx(1.5 / 4)
    assert one.lower is not None
    assert one.upper is not None
    assert 0 <= one.lower < one.share < one.upper <= 1
    read = api_client(made.owner, ("read",)).get(f"/api/v1/experiments/{made.pk}/votes/").json()
    assert read["pairs"][0]["share"] == one.share
    assert api_client(factories.staff(), ("read",)).get(f"/api/v1/experiments/{made.pk}/votes/").status_code == 404


def test_only_its_owner_shares_it(made: Experiment, client: Client, api_client: Callable[..., APIClient]) -> None:
    page, address = f"/conversations/experiments/{made.pk}/sharing/", f"/api/v1/experiments/{made.pk}/sharing/"
    client.force_login(factories.staff())
    assert client.post(page, {"sharing": "prompts"}).status_code == 404
    assert (
        api_client(factories.staff(), ("run",)).post(address, {"sharing": "prompts"}, format="json").status_code == 404
    )
    made.refresh_from_db()
    assert made.sharing == "nobody"
    client.force_login(made.owner)
    client.post(page, {"sharing": "nonsense"})
    assert api_client(made.owner, ("run",)).post(address, {"sharing": "nonsense"}, format="json").status_code == 400
    made.refresh_from_db()
    assert made.sharing == "nobody"
    client.post(page, {"sharing": "dialogues"})
    made.refresh_from_db()
    assert made.sharing == "dialogues"
    with pytest.raises(NotFound):
        experiment_share(experiment_id=made.pk, owner=factories.user(), sharing="nobody")


@pytest.mark.xdist_group("server")
def test_on_a_whole_server_a_reader_compares_and_no_socket_opens_to_them(person: Person, server: Server) -> None:
    grid = {"name": "shared", "listed": [["axolotl-steady", "axolotl-other"], ["axolotl-other", "axolotl-other"]],
            "pairs": "listed", "scenarios": ["night-bus"], "turns": 2}  # fmt: skip
    status, made = person.call("POST", "experiments/", grid)
    assert status == 201, made
    person.call("POST", f"experiments/{made['id']}/cancel/")
    server.manage("experiment_run", "--resume", made["id"])
    reader = Person(server, server.accounts[2])
    assert person.call("POST", f"experiments/{made['id']}/sharing/", {"sharing": "dialogues"})[0] == 200
    try:
        status, pair = reader.call("POST", "conversations/pairs/")
        assert status == 200, pair
        assert pair["is_own"] is False
        assert "axolotl" not in (json.dumps(pair) + reader.page(f"/conversations/compare/{pair['id']}/")).lower()
        ids = {row["conversation"] for row in _log(person, made["id"])}
        assert len(ids) == 2
        for id_ in ids:
            with Window(reader, id_) as window, pytest.raises(Exception, match="4404"):
                window.until("snapshot")
        status, told = reader.call("POST", f"conversations/pairs/{pair['id']}/preference/", {"choice": "tie"})
        assert status == 201, told
        assert {agent["model"] for one in told["conversations"] for agent in one["agents"]} == {
            "axolotl-steady", "axolotl-other"
        }  # fmt: skip
    finally:
        person.call("POST", f"experiments/{made['id']}/sharing/", {"sharing": "nobody"})


def _log(person: Person, id_: str) -> list[dict[str, Any]]:
    status, text = person.call_raw("GET", f"experiments/{id_}/export/?format=jsonl")
    assert status == 200
    return [json.loads(line) for line in text.splitlines()]


def test_a_deleted_conversation_is_out_of_a_readers_sight(made: Experiment) -> None:
    share(made)
    reader = factories.user()
    pair = drawn(reader)
    conversations.conversation_delete(conversation_id=pair.conversation_a_id, owner=made.owner)
    with pytest.raises(NotFound):
        selectors.pair_whole(pair_id=pair.pk, viewer=reader)
