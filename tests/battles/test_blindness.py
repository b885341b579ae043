"""The promise: before the vote, nothing that leaves the server names a model or lets it be guessed."""

import json
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.test import APIClient

from battles import services, state
from battles.models import Battle, Response
from battles.selectors import battle_whole
from providers import live
from providers.live import LiveView, Viewer
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db

UPSTREAM_WORDS = "Zebrafish-9000 at Quokka Cloud: quota of org-4711 is used up"


@pytest.fixture
def contenders() -> list[LanguageModel]:
    """Two models whose every column is a word that occurs nowhere else."""
    return [
        factories.language_model(
            f"slug-{word}",
            name=f"Name {word}",
            upstream_id=f"upstream/{word}",
            organisation=f"Organisation {word}",
            licence=f"Licence {word}",
            url=f"https://{word}.example.org/",
            system_prompt=f"You are {word}.",
            endpoint=factories.endpoint(
                f"endpoint-{word}", name=f"Endpoint {word}", base_url=f"http://{word}.example.org/v1"
            ),
        )
        for word in ("zebrafish", "quokka")
    ]


def _tells(content: str) -> list[str]:
    """What in `content` would tell a model: a word of its rows, the upstream's words, or one of the figures."""
    figures = ("987654", "31337", "271828", "161803", "577215")
    clues = ("zebrafish", "quokka", "org-4711", "gemini", "req-gnat", "0ddba11", *figures)
    return [clue for clue in clues if clue in content.lower()]


async def _streaming(id: UUID, viewer: Viewer) -> LiveView:
    """As if this process was writing it."""
    return LiveView(id, "streaming", "Half an ans", "", "Half an ans", "")


@pytest.fixture(params=[Response.Status.FINISHED, Response.Status.FAILED, Response.Status.STREAMING])
def battle(request: pytest.FixtureRequest, contenders: list[LanguageModel]) -> Battle:
    """A blind battle before the vote, with figures and errors that must not be seen."""
    row = factories.battle(models=contenders, status=request.param)
    if request.param == Response.Status.STREAMING:
        request.getfixturevalue("monkeypatch").setattr(live, "attach", _streaming)
    Response.objects.update(
        latency_ms=987654,
        first_token_ms=31337,
        input_tokens=271828,
        output_tokens=161803,
        reasoning_tokens=577215,
        upstream_model="zebrafish-9000-0613",
        request_id="req-gnat",
        messages_hash="0ddba11" * 9,
        sampling={"temperature": 0.577215},
        adapter="gemini",
        cost="0.98765400",
        error_kind="auth" if request.param == Response.Status.FAILED else "",
        error_message=UPSTREAM_WORDS,
    )
    return row


def _routes(patterns: Iterable[URLPattern | URLResolver], prefix: str = "") -> Iterable[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern), pattern


def _urls_of_a_battle(battle: Battle) -> list[str]:
    """Every address of the whole project that takes a battle's id."""
    routes = [route for route, _ in _routes(get_resolver().url_patterns) if "battle_id" in route]
    return ["/" + route.replace("<uuid:battle_id>", str(battle.id)) for route in routes]


def _everything(answer: Any) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode() + json.dumps(dict(answer.headers)) + str(answer.cookies)


def test_no_address_that_takes_a_battles_id_tells_a_model(battle: Battle) -> None:
    client = Client()
    client.force_login(battle.owner)
    urls = _urls_of_a_battle(battle)
    assert len(urls) > 8
    page = client.get(reverse("battles:detail", args=[battle.id])).content.decode()
    assert ("Half an ans" in page) is (Response.objects.first().status == "streaming")  # type: ignore[union-attr]
    for url in [*urls, reverse("battles:history"), "/api/v1/battles/"]:
        if url.endswith(("/delete/", "/restore/")):
            continue
        assert not _tells(_everything(client.get(url))), url


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("api_preference", {"choice": "nonsense"}),
        ("api_preference", {"ranking": ["a", "a"]}),
        ("api_regenerate", {"side": "c"}),
        ("api_share", {}),
        ("api_turns", {"prompt": ""}),
        ("api_reactions", {"response": "nonsense", "value": "like"}),
        ("api_stop", {"side": "x"}),
    ],
)
def test_no_refusal_tells_a_model(
    battle: Battle, api_client: Callable[..., APIClient], name: str, body: dict[str, Any]
) -> None:
    client = api_client(battle.owner, scopes=("read", "run", "vote"))
    answer = client.post(reverse(name, args=[battle.id]), body, format="json")
    assert 400 <= answer.status_code < 500
    assert not _tells(_everything(answer))


def test_the_state_names_assistants_only_and_its_failures_are_all_alike(contenders: list[LanguageModel]) -> None:
    sentences = set()
    for kind in ("auth", "rate_limit", "timeout", "context_length", "content_filter"):
        row = factories.battle(models=contenders, status=Response.Status.FAILED)
        Response.objects.filter(turn__battle=row).update(error_kind=kind, error_message=UPSTREAM_WORDS)
        shown = state.battle_state(battle_whole(battle_id=row.id, viewer=row.owner))
        assert [side["name"] for side in shown["sides"]] == ["Assistant A", "Assistant B"]
        sentences |= {(r["kind"], r["message"]) for turn in shown["turns"] for r in turn["responses"]}
    assert sentences == {("unavailable", "This assistant could not answer. You can try again.")}


def test_nobody_else_reads_a_battle_nor_its_share_link_before_the_vote(battle: Battle) -> None:
    stranger = Client()
    stranger.force_login(factories.staff())
    for url in _urls_of_a_battle(battle):
        assert stranger.get(url).status_code in (404, 405), url
    owner = Client()
    owner.force_login(battle.owner)
    assert owner.post(reverse("api_share", args=[battle.id])).status_code == 403


def test_after_the_vote_the_state_tells_everything(contenders: list[LanguageModel]) -> None:
    row = factories.battle(models=contenders)
    Response.objects.update(latency_ms=987654)
    services.preference_record(battle_id=row.id, voter=row.owner, choice="a")
    shown = state.battle_state(battle_whole(battle_id=row.id, viewer=row.owner))
    assert [side["name"] for side in shown["sides"]] == ["Name zebrafish", "Name quokka"]
    assert shown["sides"][0]["model"]["slug"] == "slug-zebrafish"
    assert {r["metrics"]["latency_ms"] for r in shown["turns"][0]["responses"]} == {987654}


def test_position_says_nothing_about_the_model_or_its_age() -> None:
    models = [factories.language_model() for _ in range(2)]
    owner = factories.user()
    left = [services.battle_create(owner=owner).sides.get(label="a").model_id for _ in range(60)]
    assert 10 < left.count(models[0].pk) < 50
