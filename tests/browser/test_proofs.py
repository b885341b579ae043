"""Proof of work in a browser: signing up and voting, where the server asks for it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WATCH_POLICY
from tests.factories import PASSWORD
from tests.fakes.upstream import Upstream
from tests.live import Person
from tests.server import Server, start

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def guarded(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants proofs, with the work of a real one."""
    folder = tmp_path_factory.mktemp("guarded")
    running = start(folder, upstream_url=upstream.url, PROOF_OF_WORK="signup,vote", PROOF_OF_WORK_STEPS="60000")
    yield running
    running.stop()


@pytest.fixture
def stranger(browser: Browser, guarded: Server) -> Iterator[Page]:
    context = browser.new_context(base_url=guarded.url)
    context.add_init_script(WATCH_POLICY)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: request.url.startswith(guarded.url) or problems.append(request.url))
    yield page
    context.close()
    assert not problems


def test_a_person_signs_up_and_votes_without_noticing_the_work(stranger: Page, guarded: Server) -> None:
    page = stranger
    page.goto("/account/signup/")
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/battle/**")
    account = guarded.accounts[1]
    page.context.add_cookies([{"name": guarded.cookie_name, "value": account.session_key, "url": guarded.url}])
    battle = Person(guarded, account).battle("steady", "other")
    page.goto(f"/battles/{battle['id']}/")
    expect(page.locator("#votebar")).to_be_visible()
    page.locator("#votebar button[value=a]").click()
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.locator("[data-outcome]")).to_contain_text("You chose A")
