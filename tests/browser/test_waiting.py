"""What a panel says while its answer waits for a free place."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.fakes.scripts import PLAIN
from tests.line import Line

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]


def live_words(page: Page) -> Any:
    return page.locator("[data-live-words]:visible")


def test_a_named_panel_says_its_place_keeps_it_over_a_reload_and_can_be_stopped(open_page: Open, line: Line) -> None:
    page = open_page(f"/battles/{line.battle(mode='named')['id']}/")
    waits = page.locator("[data-side]").filter(has_text="Next in line")
    expect(waits).to_have_count(1)
    page.reload()
    expect(waits).to_have_count(1)
    behind = open_page(f"/battles/{line.battle(mode='named')['id']}/")
    expect(live_words(behind).filter(has_text="Number 2 in line")).to_be_visible()
    expect(live_words(behind).filter(has_text="Number 3 in line")).to_be_visible()
    waits.get_by_role("button", name="Stop").click()
    expect(page.locator("[data-stopped]:visible")).to_have_count(1)
    expect(live_words(behind).filter(has_text="Next in line")).to_be_visible()
    line.go_on()
    expect(behind.locator("[data-html]").filter(has_text=PLAIN)).to_have_count(2)
    expect(live_words(behind)).to_have_count(0)


def test_a_blind_panel_says_that_it_waits_and_not_how_long_the_line_is(open_page: Open, line: Line) -> None:
    line.battle(mode="named")
    page = open_page(f"/battles/{line.battle()['id']}/")
    expect(live_words(page)).to_have_text(["Waiting for a free place"] * 2)
    page.reload()
    expect(live_words(page)).to_have_text(["Waiting for a free place"] * 2)
    line.go_on()
    expect(page.locator("#votebar")).to_be_visible()
