"""Two web processes behind a proxy with TLS: what one writes is watched, stopped and voted on through the others."""

import urllib.request

import pytest

from tests.cluster import Cluster
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
