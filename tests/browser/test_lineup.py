"""A line-up as a person has it: cards of their own, the best or a ranking, by click, key and drag."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.live import Person

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]
FOUR = ["steady", "other", "thinker", "refuses-401"]
SHOTS = os.environ.get("SHOTS", "")


def lineup(person: Person, *scripts: str, **fields: Any) -> str:
    battle = person.battle(*scripts, mode="lineup", **fields)
    return f"/battles/{battle['id']}/"


def card(page: Page, label: str) -> Locator:
    return page.locator(f'[data-side="{label}"]').last


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def test_from_choosing_models_to_picking_the_best(open_page: Open) -> None:
    page = open_page("/lineup/")
    shot(page, "lineup-new")
    chosen = page.locator('[name="models"]:checked')
    while chosen.count():
        chosen.first.uncheck()
    for script in FOUR:
        page.locator(f'[name="models"][value="axolotl-{script}"]').check()
    expect(page.locator("[data-chosen]")).to_have_text("4 chosen")
    page.locator("#prompt").fill("Why is the sky blue?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/battles/"))
    expect(page.locator("#votebar")).to_be_visible()
    failed, best = (page.locator("[data-side]").filter(has_text=f"Axolotl {name}") for name in ("refuses-401", "other"))
    expect(failed).to_contain_text("did not accept our key")
    expect(failed.locator("[data-rank]")).to_be_hidden()
    expect(failed.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("[data-send]")).to_be_disabled()
    best.locator("[data-rank]").click()
    shot(page, "lineup-best")
    expect(page.locator("[data-send]")).to_have_text("Axolotl other is the best")
    page.locator("[data-send]").click()
    expect(page.locator("#outcome")).to_contain_text("You chose Axolotl other as the best")
    expect(best).to_contain_text("Your choice")
    page.reload()
    expect(page.locator("#outcome")).to_contain_text("You chose Axolotl other as the best")


def test_a_ranking_with_a_tie_by_keyboard_alone(open_page: Open, person: Person) -> None:
    page = open_page(lineup(person, "steady", "other", "thinker", blind=True))
    expect(page.get_by_role("heading", name="Assistant C")).to_be_visible()
    expect(page.locator("#votebar")).to_be_visible()
    for label, digit in (("a", "1"), ("c", "2"), ("b", "2")):
        card(page, label).focus()
        page.keyboard.press(digit)
    expect(page.locator("[data-ranks] li")).to_have_count(3)
    expect(card(page, "b").locator("[data-rank-number]")).to_have_text("2")
    card(page, "c").focus()
    page.keyboard.press("0")
    expect(page.locator("[data-ranks] li")).to_have_count(2)
    page.keyboard.press("2")
    page.locator("[data-send]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_contain_text(re.compile(r"You ranked Axolotl \w+ > Axolotl \w+ = Axolotl \w+"))


def test_the_order_is_changed_by_buttons_and_by_dragging(open_page: Open, person: Person) -> None:
    page = open_page(lineup(person, "steady", "other", "thinker"))
    expect(page.locator("#votebar")).to_be_visible()
    for label in "abc":
        card(page, label).locator("[data-rank]").click()
    chips = page.locator("[data-ranks] li")
    chips.nth(2).get_by_role("button", name="Better").click()
    expect(chips.nth(1)).to_contain_text("Axolotl thinker")
    chips.nth(2).drag_to(chips.nth(0))
    expect(chips.nth(0)).to_contain_text("Axolotl other")
    chips.nth(1).get_by_role("button", name="Equal to the one before").click()
    shot(page, "lineup-ranking")
    expect(chips.locator("[data-number]")).to_have_text(["1", "1", "2"])
    page.get_by_role("button", name="Start over").click()
    expect(chips).to_have_count(0)


def test_none_is_good_and_the_vote_is_taken_back(open_page: Open, person: Person) -> None:
    page = open_page(lineup(person, "steady", "other", "thinker"))
    page.get_by_role("button", name="None is good").click()
    expect(page.locator("#outcome")).to_contain_text("You found none of them good")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#outcome")).to_contain_text("You took your vote back")
    expect(page.get_by_role("button", name="Undo")).to_be_hidden()


def test_a_failed_card_is_tried_again_while_the_others_stand(open_page: Open, person: Person) -> None:
    page = open_page(lineup(person, "steady", "broken-500", "other"))
    expect(card(page, "b").get_by_role("button", name="Try again")).to_be_visible()
    card(page, "b").get_by_role("button", name="Try again").click()
    expect(card(page, "b")).to_contain_text("attempt 2")
    expect(page.locator("#votebar")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_eight_cards_are_accessible_and_fit(open_page: Open, person: Person, width: int, dark: bool) -> None:
    scripts = ["steady", "other", "thinker", "hostile", "broken-500", "refuses-401", "no-finish", "bytes"]
    page = open_page(lineup(person, *scripts), width=width, dark=dark)
    expect(page.locator("#votebar")).to_be_visible()
    expect(page.locator("article.panel")).to_have_count(8)
    card(page, "a").locator("[data-rank]").click()
    shot(page, f"lineup-eight-{width}-{'dark' if dark else 'light'}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_before_it_is_accessible(open_page: Open, width: int) -> None:
    page = open_page("/lineup/", width=width, dark=True)
    page.get_by_text("Blind", exact=True).click()
    expect(page.locator("#how-many")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()
