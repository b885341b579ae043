"""Two conversations compared by a person: drawn, read without names, voted on with a key, revealed and taken back; and
one conversation that two people's windows show while it is steered."""

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.conversations.live import act, start, until_still
from tests.live import Person

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]
SHOTS = os.environ.get("SHOTS", "")


def looked_at(page: Page, name: str) -> None:
    """No violation that axe finds, and nothing that has to be scrolled sideways."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)
    found = Axe().run(page).response["violations"]
    assert not found, [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_two_conversations_are_compared_without_names(open_page: Open, person: Person, width: int, dark: bool) -> None:
    scenario = "used-bicycle" if dark else "night-bus"
    for script in ("steady", "other"):
        made = start(person, script, "thinker", max_turns=4, scenario=scenario, seed_prompt="")
        act(person, made, "run")
        until_still(person, made)
    look = f"{width}{'-dark' * dark}"
    page = open_page("/conversations/compare/", width=width, dark=dark)
    looked_at(page, f"compare-before-{look}")
    page.get_by_role("button", name=re.compile("first two|Next pair")).click()
    page.wait_for_url(re.compile("/compare/[0-9a-f-]{36}/"))
    expect(page.locator(".compare-one .bubble")).to_have_count(8)
    assert "axolotl" not in page.content().lower()
    page.reload()
    expect(page.locator("#votebar")).to_be_visible()
    page.get_by_text("Add a reason").click()
    page.get_by_text("Clearer").click()
    looked_at(page, f"compare-blind-{look}")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("1")
    expect(page.locator(".outcome-words")).to_contain_text("You found A better.")
    expect(page.locator(".outcome-words")).to_contain_text("Clearer")
    expect(page.locator(".compare-one .talkers").first).to_contain_text("Axolotl")
    looked_at(page, f"compare-revealed-{look}")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".outcome-words")).to_contain_text("You took your vote back")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="You have compared all there are")).to_be_visible()
    looked_at(page, f"compare-all-{look}")


def test_a_second_window_sees_what_the_first_one_does(open_page: Open, person: Person) -> None:
    made = start(person, "slow", "slow", max_turns=6)
    first, second = (open_page(f"/conversations/{made['id']}/") for _ in range(2))
    first.get_by_role("button", name="Play").click()
    expect(second.locator(".bubble[data-status='streaming']")).to_be_visible()
    second.reload()
    expect(second.locator(".bubble")).to_have_count(1)
    second.get_by_role("button", name="Pause after this turn").click()
    expect(first.locator("[data-reason]")).to_contain_text("Paused by you.")
    first.get_by_role("button", name="Play").click()
    expect(second.locator(".bubble")).to_have_count(2)
    second.get_by_role("button", name="Stop").click()
    expect(first.locator("[data-reason]")).to_contain_text("Stopped by you.")
    expect(first.locator(".bubble").last).to_contain_text("Stopped here.")
    expect(first.locator(".bubble")).to_have_count(2)
