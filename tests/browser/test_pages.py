"""Every page: accessible in light and dark, on a desk and on a phone, and without a complaint of the browser."""

import re
import uuid

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.live import Person
from tests.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]

LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]
OPEN_PAGES = [
    "/",
    "/account/login/",
    "/account/signup/",
    "/account/password/reset/",
    "/leaderboard/",
    "/leaderboard/methodology/",
]
OWN_PAGES = [
    "/",
    "/battle/",
    "/history/",
    "/account/",
    "/account/usage/",
    "/account/password/change/",
    "/account/logout/",
    "/account/jobs/",
    "/exports/",
    "/exports/?kind=dpo&format=jsonl&shape=standard",
]
STAFF_PAGES = ["/imports/"]
# The test server has no worker.
RUN_JOBS = """
from accounts.jobs import job_run
from accounts.models import Job
for job in Job.objects.filter(state="queued"):
    job_run(job_id=job.pk)
"""


def _violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}" for one in found]


@pytest.mark.parametrize(("width", "dark"), LOOKS)
@pytest.mark.parametrize("path", OPEN_PAGES)
def test_pages_for_everybody_are_accessible(open_page: Open, path: str, width: int, dark: bool) -> None:
    page = open_page(path, width=width, dark=dark, logged_in=False)
    assert _violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "dark"), LOOKS)
@pytest.mark.parametrize("path", OWN_PAGES)
def test_pages_for_people_are_accessible(open_page: Open, path: str, width: int, dark: bool) -> None:
    page = open_page(path, width=width, dark=dark)
    assert _violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "dark"), LOOKS)
@pytest.mark.parametrize("path", STAFF_PAGES)
def test_pages_for_staff_are_accessible(
    open_page: Open, server: Server, person: Person, path: str, width: int, dark: bool
) -> None:
    person.account = server.accounts[0]
    page = open_page(path, width=width, dark=dark)
    assert _violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_file_is_checked_before_it_is_imported(open_page: Open, server: Server, person: Person) -> None:
    person.account = server.accounts[0]
    page = open_page("/imports/", width=390)
    page.get_by_label("Board or prompt set").fill("browser")
    votes = b'{"model_a": "Alpha", "model_b": "Beta", "winner": "tie"}'
    page.locator("#id_file").set_input_files({"name": "votes.jsonl", "mimeType": "text/plain", "buffer": votes})
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    assert _violations(page) == []
    server.manage("shell", "-v0", "-c", RUN_JOBS)
    expect(page.get_by_role("button", name="Import it")).to_be_visible()
    assert _violations(page) == []
    page.get_by_role("button", name="Import it").press("Enter")
    page.wait_for_url(re.compile("/account/jobs/"))
    server.manage("shell", "-v0", "-c", RUN_JOBS)
    expect(page.get_by_text("1 rows on 2 models, 1 new.")).to_be_visible()


def test_an_export_is_counted_and_downloaded_by_keyboard(open_page: Open, person: Person) -> None:
    battle = person.battle("steady", "other")
    page = open_page(f"/battles/{battle['id']}/")
    expect(page.locator("#votebar")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#outcome")).to_be_visible()
    page.goto("/exports/")
    page.get_by_role("button", name="Count and prepare").press("Enter")
    expect(page.get_by_role("heading", name=re.compile("votes? fits?"))).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).press("Enter")
    assert download.value.suggested_filename == "dpo.jsonl"


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_a_battle_is_accessible_from_the_first_token_to_the_shared_page(
    open_page: Open, person: Person, width: int, dark: bool
) -> None:
    battle = person.battle("slow", "hostile")
    page = open_page(f"/battles/{battle['id']}/", width=width, dark=dark)
    assert _violations(page) == []
    expect(page.locator("#votebar")).to_be_visible()
    assert _violations(page) == []
    page.keyboard.press("2")
    expect(page.locator("#outcome")).to_be_visible()
    assert _violations(page) == []
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share-url")).to_be_visible()
    path = "/s/" + page.locator("#share-url").input_value().rstrip("/").rsplit("/", 1)[1] + "/"
    assert _violations(open_page(path, width=width, dark=dark, logged_in=False)) == []


def test_a_page_that_is_not_there_says_so(open_page: Open) -> None:
    page = open_page(f"/battles/{uuid.uuid4()}/")
    expect(page.get_by_role("heading").first).to_be_visible()
    assert _violations(page) == []
    problems: list[str] = open_page.problems  # type: ignore[attr-defined]
    problems[:] = [problem for problem in problems if "404" not in problem]


def test_somebody_signs_up_leaves_and_comes_back(open_page: Open) -> None:
    page = open_page("/account/signup/", logged_in=False)
    name, password = f"visitor-{uuid.uuid4().hex[:8]}", "correct horse battery"
    page.locator("#id_username").fill(name)
    page.locator("#id_password1").fill(password)
    page.locator("#id_password2").fill(password)
    page.locator("#id_password2").press("Enter")
    page.wait_for_url(re.compile("/battle/"))
    page.goto("/account/logout/")
    page.locator("main form button").click()
    page.goto("/account/login/")
    page.locator("#id_login").fill(name)
    page.locator("#id_password").fill(password)
    page.locator("#id_password").press("Enter")
    page.wait_for_url(re.compile("/battle/"))


def test_a_key_is_shown_once(open_page: Open) -> None:
    page = open_page("/account/")
    page.locator("#id_name").fill("notebook")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_text(re.compile("tny_")).first).to_be_visible()
    secret = re.search(r"tny_\w{8}_[\w-]+", page.content())
    assert secret is not None
    page.goto("/account/")
    assert secret[0] not in page.content()


def test_a_draft_survives_a_refusal_and_a_reload(open_page: Open) -> None:
    page = open_page("/battle/")
    page.locator("#prompt").fill("x" * 20_001)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("too long"))).to_be_visible()
    page.locator("#prompt").fill("A draft of mine")
    page.reload()
    expect(page.locator("#prompt")).to_have_value("A draft of mine")
