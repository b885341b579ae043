"""An experiment as a researcher has it: planned, priced, played, read, compared and planned again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.test_conversation import checked, shot
from tests.conversations.live import act, start, until_still
from tests.live import Person

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_from_chosen_pairs_to_figures_and_again(
    open_page: Open, person: Person, tmp_path: Path, width: int, dark: bool
) -> None:
    page = open_page("/conversations/experiments/new/", width=width, dark=dark)
    page.get_by_text("Chosen ones").click()
    expect(page.locator('[name="models"]').first).to_be_hidden()
    page.get_by_role("button", name="Add a pair").click()
    for at, (one, other) in enumerate([("steady", "other"), ("other", "other")]):
        for side, script in (("Agent A", one), ("Agent B", other)):
            page.get_by_label(side, exact=True).nth(at).select_option(f"axolotl-{script}")
    page.locator("#iterations").fill("3")
    page.locator("#turns").fill("2")
    expect(page.locator('[data-of="conversations"]')).to_have_text("18")
    expect(page.locator('[data-of="cost"]')).to_contain_text("$")
    page.locator("#temperature").fill("0.2")
    page.locator("#top-p").fill("0.5, default")
    expect(page.locator('[data-of="conversations"]')).to_have_text("36")
    page.locator("#max-tokens").fill("many")
    expect(page.locator("[data-errors]")).to_contain_text("max_tokens")
    open_page.problems.clear()  # type: ignore[attr-defined] # the browser logs the refusal
    page.locator("#max-tokens").fill("")
    expect(page.locator('[data-of="conversations"]')).to_have_text("36")
    page.get_by_role("button", name="Take out").last.click()
    expect(page.locator('[data-of="conversations"]')).to_have_text("18")
    page.locator("#name").fill("Chosen pairs")
    shot(page, f"experiment-listed-{width}")
    checked(page)
    page.get_by_role("button", name="Start the experiment").click()
    page.wait_for_url(re.compile("/conversations/experiments/[0-9a-f-]{36}/"))
    id_ = page.url.rstrip("/").rpartition("/")[2]
    page.get_by_role("button", name="Let it stand still").click()
    expect(page.get_by_role("button", name="Play what is missing")).to_be_visible()
    assert "18 of 18 conversations have ended" in person.server.manage("experiment_run", "--resume", id_)
    page.reload()
    expect(page.locator(".spot.ended")).to_have_count(18)

    page.get_by_role("link", name="Analyse").click()
    page.get_by_label("Measure").select_option("similarity")
    page.get_by_label("By", exact=True).select_option("scenario")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("figure.chart")).to_have_count(5)
    expect(page.get_by_text("3 comparisons")).to_be_visible()
    with page.expect_download() as waiting:
        page.locator("figure.chart").first.get_by_role("link", name="PNG").click()
    assert waiting.value.suggested_filename.endswith(".png")
    shot(page, f"experiment-figures-{width}{'-dark' * dark}")
    checked(page)
    page.get_by_role("link", name="Highest first").click()
    page.locator(".said a").first.click()
    expect(page.locator(".bubble:target, #turn-2")).to_be_in_viewport()

    page.goto(f"/conversations/experiments/compare/?first={id_}")
    page.get_by_label("Its scenario").first.select_option(index=1)
    page.get_by_label("Second experiment").select_option(id_)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("This experiment does not play").or_(page.locator("figure.chart").first)).to_be_visible()
    shot(page, f"experiment-compare-{width}{'-dark' * dark}")
    checked(page)

    page.goto(f"/conversations/experiments/new/?from={id_}")
    expect(page.locator('[data-of="conversations"]')).to_have_text("18")
    grid = tmp_path / "grid.yaml"
    grid.write_text("name: x\nmodels: [axolotl-steady]\nscenarios: [fractions]\nturns: 0\n")
    page.locator("#grid-file").set_input_files(grid)
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_role("alert").first).to_contain_text("line 4: Turns are at least 1.")
    open_page.problems.clear()  # type: ignore[attr-defined] # the browser logs the refusal
    grid.write_text(grid.read_text().replace("turns: 0", "turns: 3"))
    page.locator("#grid-file").set_input_files(grid)
    page.get_by_role("button", name="Read it").click()
    expect(page.locator('[data-of="turns"]')).to_have_text("3")


def test_a_failed_analysis_is_had_again_and_two_stand_side_by_side(open_page: Open, person: Person) -> None:
    made = start(person, "steady", "other", max_turns=1)
    act(person, made, "turn", expect=201)
    act(person, made, "analysis", {"model": "axolotl-broken-500", "rubric": "Who was kinder?"}, expect=201)
    until_still(person, made)
    page = open_page(f"/conversations/{made['id']}/")
    failed = page.locator(".analysis")
    expect(failed).to_contain_text("Who was kinder?")
    with page.expect_response(re.compile("/retry/$")) as again:
        failed.get_by_role("button", name="Read it again").click()
    assert again.value.status == 201
    expect(failed.get_by_role("button", name="Read it again")).to_be_visible()
    until_still(person, made)
    expect(page.get_by_role("link", name="Side by side")).to_be_hidden()
    for script in ("reader", "no-schema"):
        act(person, made, "analysis", {"model": f"axolotl-{script}"}, expect=201)
    until_still(person, made)
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator(".beside thead th")).to_have_count(3)
    shot(page, "analyses")
    checked(page)
