"""The leaderboard as files: table, charts, badge."""

import csv
import io
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.figures import FIGURES
from leaderboard.models import Board
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import rebuilt, stored

pytestmark = pytest.mark.django_db
BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG", "csv": b"", "json": b"{"}


@pytest.fixture(autouse=True)
def votes() -> None:
    ann, ben = factories.language_model("ann", name="=Ann & <b>"), factories.language_model("ben")
    for outcome in "aabab":
        stored(ann, ben, outcome)
    rebuilt()


def test_the_table_comes_as_csv_that_no_spreadsheet_runs_and_as_the_apis_json(client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get(reverse("leaderboard:table", args=["csv"])).content.decode())))
    assert [(row["model"], row["name"], row["rank"]) for row in rows] == [
        ("ann", "'=Ann & <b>", "1"),
        ("ben", "Ben", "2"),
    ]
    body = client.get(reverse("leaderboard:table", args=["json"])).json()
    assert body["results"][0]["model"]["name"] == "=Ann & <b>"


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_every_chart_comes_in_every_form(ending: str, client: Client) -> None:
    for name in FIGURES:
        answer = client.get(reverse("leaderboard:chart", args=[name, ending]))
        assert answer.status_code == 200
        assert answer.content.startswith(BEGINNINGS[ending])
        assert b"<b>" not in answer.content or ending in ("csv", "json")


def test_a_badge_holds_the_place_and_the_name_as_text(client: Client) -> None:
    answer = client.get(reverse("leaderboard:badge", args=["ann"]))
    assert answer.headers["content-type"] == "image/svg+xml"
    assert b"#1" in answer.content
    assert b"=Ann &amp; &lt;b&gt;" in answer.content


def test_a_badge_is_xml_whatever_the_name_and_shows_a_share_as_one(client: Client) -> None:
    LanguageModel.objects.filter(slug="ann").update(name="A\x01nn\u202e & <b>")
    answer = client.get(reverse("leaderboard:badge", args=["ann"]), {"method": "win_rate"})
    drawing = ElementTree.fromstring(answer.content)
    assert drawing.attrib["aria-label"].startswith("Ann & <b>: ")
    assert drawing.attrib["aria-label"].endswith(" %")


def test_a_badge_of_a_board_that_is_not_public_is_kept_by_nobody_on_the_way(client: Client) -> None:
    Board.objects.create(slug="secret", name="Secret", is_public=False)
    rebuilt()
    address = reverse("leaderboard:badge", args=["ann"])
    assert client.get(address).headers["Cache-Control"].startswith("public")
    assert client.get(address, {"board": "secret"}).status_code == 404
    client.force_login(factories.user(is_staff=True))
    assert client.get(address, {"board": "secret"}).headers["Cache-Control"].startswith("private")


@pytest.mark.parametrize("path", ["table.xml", "charts/nothing.svg", "charts/ratings.exe", "badge/nobody.svg"])
def test_what_there_is_not_is_not_found(path: str, client: Client) -> None:
    assert client.get(reverse("leaderboard:index") + path).status_code == 404


def test_before_the_first_vote_every_file_is_there_and_empty(client: Client) -> None:
    address = reverse("leaderboard:index") + "{}?category=nothing"
    assert client.get(address.format("table.csv")).content == b"model,name\r\n"
    for name in FIGURES:
        assert client.get(address.format(f"charts/{name}.svg")).status_code == 200
