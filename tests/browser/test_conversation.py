"""A conversation of two models as a person has it: chosen, watched, steered and read."""

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


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def checked(page: Page) -> None:
    """No violation that axe finds, and nothing that has to be scrolled sideways."""
    found = Axe().run(page).response["violations"]
    assert not found, [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_from_the_form_to_the_last_turn(open_page: Open) -> None:
    page = open_page("/conversations/new/")
    page.locator("#model-a").select_option("axolotl-thinker")
    page.locator("#name-a").fill("Ann")
    page.locator("#model-b").select_option("axolotl-slow-markdown")
    page.locator("#name-b").fill("Bob")
    page.locator("#seed-prompt").fill("Ask the other why the sky is blue.")
    page.locator("#max-turns").fill("3")
    page.get_by_text("When to stop earlier").click()
    page.get_by_label("repeats what was said").uncheck()
    shot(page, "conversation-new")
    checked(page)
    page.get_by_role("button", name="Start the conversation").click()
    page.wait_for_url(re.compile("/conversations/[0-9a-f-]{36}/"))
    expect(page.locator(".bubble").first).to_contain_text("One short and honest answer")
    page.locator(".bubble").first.locator("summary").click()
    expect(page.locator(".bubble").first).to_contain_text("Let me think.")
    page.get_by_role("button", name="Pause after this turn").click()
    expect(page.locator("[data-reason]")).to_contain_text("Paused by you.")
    expect(page.locator(".bubble")).to_have_count(2)
    expect(page.locator(".bubble table")).to_be_visible()
    expect(page.locator(".bubble-foot").last).to_be_in_viewport()
    page.reload()
    expect(page.locator("[data-turn-words]")).to_have_text("Turn 2 of 3")
    page.locator("#inject").fill("Be brief, please.")
    page.keyboard.press("Enter")
    expect(page.locator(".bubble.m")).to_contain_text("Be brief, please.")
    page.get_by_role("button", name="One turn").click()
    expect(page.locator("[data-reason]")).to_contain_text("All turns were taken.")
    expect(page.locator(".bubble")).to_have_count(4)
    page.get_by_role("button", name="more turns").click()
    expect(page.locator("[data-turn-words]")).to_have_text("Turn 3 of 7")
    page.locator(".bubble").nth(1).get_by_role("button", name="Branch from here").click()
    expect(page.locator("[data-reason]")).to_contain_text("Branched off here.")
    expect(page.locator(".bubble")).to_have_count(2)


def test_a_failed_turn_is_shown_with_a_way_on(open_page: Open, person: Person) -> None:
    made = start(person, "steady", "fails-once", max_turns=2)
    act(person, made, "run")
    until_still(person, made)
    page = open_page(f"/conversations/{made['id']}/")
    expect(page.locator(".bubble").last).to_contain_text("refused the request")
    page.get_by_role("button", name="Try the last turn again").click()
    expect(page.locator(".bubble").last).to_contain_text("One short and honest answer")
    expect(page.locator(".bubble")).to_have_count(2)


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1024, True), (390, False), (390, True)])
def test_the_pages_are_readable_at_every_size(open_page: Open, person: Person, width: int, dark: bool) -> None:
    made = start(person, "steady", "thinker", max_turns=3, agent_a={"name": "A rather long name for one agent"})
    act(person, made, "run")
    until_still(person, made)
    act(person, made, "analysis", {"model": "axolotl-other", "rubric": "Who was kinder?"}, expect=201)
    until_still(person, made)
    for name, path in [("list", ""), ("new", "new/"), ("detail", f"{made['id']}/")]:
        page = open_page(f"/conversations/{path}", width=width, dark=dark)
        if name == "detail":
            expect(page.locator(".analysis")).to_contain_text("Rayleigh")
        shot(page, f"conversation-{name}-{width}{'-dark' * dark}")
        checked(page)


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_an_experiment_is_priced_as_it_is_planned_and_shown_as_it_went(
    open_page: Open, person: Person, width: int, dark: bool
) -> None:
    page = open_page("/conversations/experiments/new/", width=width, dark=dark)
    while page.locator('[name="models"]:checked').count():
        page.locator('[name="models"]:checked').first.uncheck()
    for script in ("steady", "missing-404"):
        page.locator(f'[name="models"][value="axolotl-{script}"]').check()
    page.locator("#iterations").fill("2")
    page.locator("#turns").fill("2")
    expect(page.locator('[data-of="conversations"]')).to_have_text("24")
    expect(page.locator('[data-of="turns"]')).to_have_text("48")
    page.locator("#turns").fill("1000")
    expect(page.locator("[data-errors]")).to_contain_text("Max turns must be from 1 to 200")
    open_page.problems.clear()  # type: ignore[attr-defined] # the refused price is logged by the browser
    page.locator("#turns").fill("2")
    page.locator("#name").fill("First look")
    expect(page.locator('[data-of="turns"]')).to_have_text("48")
    shot(page, f"experiment-new-{width}")
    checked(page)
    page.get_by_role("button", name="Start the experiment").click()
    page.wait_for_url(re.compile("/conversations/experiments/[0-9a-f-]{36}/"))
    page.get_by_role("button", name="Let it stand still").click()
    expect(page.get_by_role("button", name="Play what is missing")).to_be_visible()
    id_ = page.url.rstrip("/").rpartition("/")[2]
    with pytest.raises(RuntimeError):  # one of the models cannot be reached
        person.server.manage("experiment_run", "--resume", id_)
    page.reload()
    expect(page.locator(".spot.ended")).to_have_count(6)
    expect(page.locator(".spot.failed")).to_have_count(18)
    shot(page, f"experiment-{width}{'-dark' * dark}")
    checked(page)
    page.get_by_role("link", name="Analyse").click()
    page.get_by_label("By", exact=True).select_option("turn")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("figure.chart")).to_have_count(5)
    shot(page, f"experiment-analyse-{width}{'-dark' * dark}")
    checked(page)
    page.go_back()
    page.go_back()
    page.locator(".spot.ended").first.click()
    expect(page.locator(".bubble")).to_have_count(2)
    page.goto("/conversations/scenarios/")
    shot(page, f"scenarios-{width}{'-dark' * dark}")
    checked(page)
