"""Two web processes behind a proxy with TLS: what one writes is watched, stopped and voted on through the others."""

import asyncio
import http.client
import io
import json
import os
import urllib.request
from urllib.error import HTTPError

import pytest
from PIL import Image

from tests.cluster import Cluster
from tests.cluster.load import WORDS, Ledger, visit
from tests.faults.test_faults import AWAY_SECONDS, FAULT_AFTER_SECONDS, MODELS, SECONDS_AFTER, killed, stored_votes
from tests.live import Person

pytestmark = pytest.mark.faults
PROXIES = ("nginx", "caddy")


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_battle_of_one_process_is_stopped_and_voted_on_through_the_others(cluster: Cluster, proxy: str) -> None:
    # Past the proxy, as the proxy itself comes: without the header they are sent to TLS.
    first, second = (
        Person(cluster.door_of(name), cluster.accounts[1], X_Forwarded_Proto="https") for name in ("web1", "web2")
    )
    outside = Person(cluster.door_of(proxy), cluster.accounts[1])
    battle = first.battle("slow", "steady")
    with outside.watch(battle["id"]) as here, second.watch(battle["id"]) as there:
        there.until_ended(1)
        here.send("stop")
        assert {end["status"] for end in there.until_ended().values()} == {"finished", "stopped"}
        assert {end["status"] for end in here.until_ended().values()} == {"finished", "stopped"}
        here.send("preference", choice="tie")
        assert there.until("snapshot")["battle"]["preference"]["choice"] == "tie"


@pytest.mark.parametrize("proxy", PROXIES)
def test_an_event_stream_comes_piece_by_piece(cluster: Cluster, proxy: str) -> None:
    """Gathered by the proxy, all of it would come at once: then the battle would be over when the first piece comes."""
    outside = Person(cluster.door_of(proxy), cluster.accounts[1])
    battle = outside.battle("slow", "other")
    outside.call("POST", f"battles/{battle['id']}/stop/")
    frames = outside.events(f"battles/{battle['id']}/turns/", {"prompt": "And at night?"})
    assert next(frames)["type"] == "snapshot"
    _, meanwhile = outside.call("GET", f"battles/{battle['id']}/")
    assert {response["status"] for response in meanwhile["turns"][1]["responses"]} & {"waiting", "streaming"}
    outside.call("POST", f"battles/{battle['id']}/stop/")
    assert len([frame for frame in frames if frame["type"] == "finished"]) == 2


@pytest.mark.parametrize("proxy", PROXIES)
def test_tourney_knows_that_it_is_spoken_to_over_tls(cluster: Cluster, proxy: str) -> None:
    with urllib.request.urlopen(f"{cluster.door_of(proxy).url}/account/login/") as page:
        assert "; Secure" in page.headers["Set-Cookie"]
        assert page.headers["Strict-Transport-Security"]


@pytest.mark.parametrize("proxy", PROXIES)
def test_who_comes_without_tls_is_sent_there(cluster: Cluster, proxy: str) -> None:
    connection = http.client.HTTPConnection("localhost", cluster.ports[f"{proxy}-http"], timeout=10)
    connection.request("GET", "/leaderboard/?board=main")
    answer = connection.getresponse()
    assert answer.status in (301, 308)
    assert answer.headers["Location"].startswith("https://localhost")
    assert answer.headers["Location"].endswith("/leaderboard/?board=main")


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_large_image_goes_through_and_a_request_that_is_too_large_is_refused_by_tourney(
    cluster: Cluster, proxy: str
) -> None:
    outside = Person(cluster.door_of(proxy), cluster.accounts[1])
    picture = io.BytesIO()
    Image.frombytes("RGB", (1500, 1500), os.urandom(3 * 1500 * 1500)).save(picture, "PNG")
    assert len(picture.getvalue()) > 6_000_000
    status, image = outside.upload(picture.getvalue())
    assert status == 201, image
    status, refusal = outside.send_form(b"x" * (65 * 1024 * 1024))
    assert (status, refusal["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_web_process_that_dies_behind_it_costs_no_vote(
    cluster: Cluster, proxy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger()
    moment = asyncio.run(
        visit(
            cluster.door_of(proxy), ledger, people=6, seconds=SECONDS_AFTER, models=MODELS, after=FAULT_AFTER_SECONDS,
            meanwhile=lambda: killed("web1", away=AWAY_SECONDS)(cluster),
        )
    )  # fmt: skip
    votes = stored_votes(cluster, ledger)
    with capsys.disabled():
        print(f"\n--- a web process behind {proxy}, kill -9 ---\nvotes {len(ledger.votes)}, {dict(ledger.troubles)}")
    assert not ledger.gave_up
    assert not ledger.unexplained
    assert {battle: [choice] for battle, choice in ledger.votes.items()} == votes
    assert {"battle", "vote", "page"} <= ledger.again_after(moment).keys()
    # The other one answered meanwhile.
    assert [at for at in ledger.succeeded["page"] if moment - AWAY_SECONDS < at < moment]


@pytest.mark.parametrize("proxy", PROXIES)
def test_with_no_web_process_at_all_the_proxy_says_so_itself(cluster: Cluster, proxy: str) -> None:
    outside = Person(cluster.door_of(proxy), cluster.accounts[1])
    for name in cluster.webs:
        cluster.parts[name].stop()
    try:
        status, text = outside.call_raw("GET", "battles/")
        assert (status, json.loads(text)["error"]["code"]) == (503, "unavailable")
        with pytest.raises(HTTPError) as away:
            outside.page("/leaderboard/")
        assert away.value.code == 503
        assert away.value.headers["Retry-After"]
        assert away.value.headers["Content-Type"].startswith("text/html")
        assert WORDS in away.value.read().decode()
    finally:
        for name in cluster.webs:
            cluster.parts[name].start()
    assert outside.call("GET", "battles/")[0] == 200
