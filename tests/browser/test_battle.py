"""A battle as a person has it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.fakes.scripts import SECRETS
from tests.live import Person
from tests.server import Server
from tests.server_data import CLUES

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]


def _path(battle: dict[str, Any]) -> str:
    return f"/battles/{battle['id']}/"


def _panel(page: Page, name: str) -> Any:
    return page.locator("[data-side]").filter(has_text=name).last


def _answered(page: Page) -> None:
    expect(page.locator("#votebar")).to_be_visible()


def test_from_prompt_to_vote_to_the_next_battle(open_page: Open) -> None:
    page = open_page("/battle/")
    expect(page.locator("#prompt")).to_be_focused()
    page.keyboard.type("Why is the sky blue?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/battles/"))
    expect(page.get_by_role("heading", name="Assistant A")).to_be_visible()
    _answered(page)
    expect(page.locator("[data-side] table").first).to_be_visible()
    page.locator("#follow-up").fill("And the sunset?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("And the sunset?")).to_be_visible()
    _answered(page)
    page.get_by_role("button", name="B is better").click()
    expect(page.locator("#outcome")).to_contain_text("You chose B: Axolotl")
    expect(page.locator("[data-side]").first).to_contain_text("Pangolin Labs")
    expect(page.locator("#again")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator("#prompt")).to_be_focused()


@pytest.mark.parametrize(("key", "said"), [("1", "You chose A"), ("2", "tie"), ("3", "bad"), ("4", "You chose B")])
def test_a_key_votes(open_page: Open, person: Person, key: str, said: str) -> None:
    page = open_page(_path(person.battle("steady", "other")))
    _answered(page)
    page.keyboard.press(key)
    expect(page.locator("#outcome")).to_contain_text(re.compile(said, re.IGNORECASE))


def test_a_key_votes_before_the_page_has_its_connection(open_page: Open, person: Person) -> None:
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as window:
        window.until_ended()
    press = "document.dispatchEvent(new KeyboardEvent('keydown', {key: '2'}))"
    page = open_page(_path(battle), script=f"addEventListener('DOMContentLoaded', () => {press})")
    expect(page.locator("#outcome")).to_contain_text(re.compile("tie", re.IGNORECASE))


def test_everything_can_be_done_by_keyboard(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("steady", "other")))
    _answered(page)
    for _ in range(60):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        name = page.evaluate("document.activeElement.textContent")
        assert outline != "none", name
        if "Tie" in name:
            break
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.locator("#again")).to_be_focused()


def test_a_reload_in_mid_stream_restores_everything_and_goes_on(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("slow", "steady")))
    expect(page.locator("[data-side]").filter(has_text="Rayleigh").first).to_be_visible()
    page.reload()
    expect(page.get_by_text("Why is the sky blue?")).to_be_visible()
    expect(page.locator("[data-side]").filter(has_text="Rayleigh").first).to_be_visible()
    _answered(page)


def test_a_lost_connection_is_said_and_mended_and_no_vote_is_stuck(
    open_page: Open, person: Person, server: Server
) -> None:
    page = open_page("/history/")
    holes: list[Any] = []

    def through(socket: Any) -> None:
        upstream = socket.connect_to_server()
        socket.on_message(lambda frame: None if holes else upstream.send(frame))
        upstream.on_message(socket.send)
        sockets.append(socket)

    sockets: list[Any] = []
    page.route_web_socket(re.compile("/ws/"), through)
    page.goto(_path(person.battle("steady", "other")))
    _answered(page)
    holes.append("the vote falls into it")
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    expect(page.locator("#outcome")).to_be_hidden()
    holes.clear()
    sockets[-1].close(code=1011)
    expect(page.locator("#connection")).to_be_visible()
    expect(page.locator("#connection")).to_be_hidden()
    page.wait_for_timeout(300)
    page.keyboard.press("1")
    expect(page.locator("#outcome")).to_be_visible()


def test_a_side_that_fails_says_so_and_can_be_tried_again(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("fails-once", "steady", prompt="Fail in the browser once?")))
    failed = page.locator("[data-side]").filter(has_text="This assistant could not answer.")
    expect(failed).to_be_visible()
    expect(page.locator("#votebar")).to_be_hidden()
    failed.get_by_role("button", name="Try again").click()
    _answered(page)


def test_stop_copy_like_and_regenerate(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("slow", "steady")))
    slow = page.locator("[data-side]").filter(has=page.get_by_role("button", name="Stop"))
    expect(page.locator("[data-side]").filter(has_text="Rayleigh").first).to_be_visible()
    expect(slow).to_have_count(1)  # the other one has ended
    slow.get_by_role("button", name="Stop").click()
    _answered(page)
    panel = page.locator("[data-side]").filter(has_text="Rayleigh").last
    panel.get_by_role("button", name="Copy").click()
    assert "Rayleigh" in page.evaluate("navigator.clipboard.readText()")
    like = panel.get_by_role("button", name="Like", exact=True)
    like.click()
    expect(like).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(
        page.locator("[data-side]").filter(has_text="Rayleigh").last.get_by_role("button", name="Like", exact=True)
    ).to_have_attribute("aria-pressed", "true")
    page.locator("[data-again]:visible").first.click()
    _answered(page)
    expect(page.get_by_text("attempt 2")).to_be_visible()


def test_one_at_a_time_shows_model_1_of_2(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("steady", "other")))
    _answered(page)
    page.get_by_role("button", name="One at a time").click()
    expect(page.get_by_text("Model 1 of 2")).to_be_visible()
    assert page.locator("[data-side]:visible").count() == 1
    page.get_by_role("button", name="Next model").click()
    expect(page.get_by_text("Model 2 of 2")).to_be_visible()


def test_a_phone_shows_it_without_sideways_scrolling_and_with_targets_for_thumbs(
    open_page: Open, person: Person
) -> None:
    page = open_page(_path(person.battle("hostile", "steady")), width=390)
    _answered(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    small = page.evaluate(
        """[...document.querySelectorAll("button, .button, nav a")]
        .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 39.5)
        .map((one) => one.textContent.trim())"""
    )
    assert small == []
    page.get_by_role("button", name="A is better").click()
    expect(page.locator("#outcome")).to_be_visible()


def test_hostile_output_runs_nothing_and_asks_nobody(open_page: Open, person: Person, server: Server) -> None:
    battle = person.battle("hostile", "steady")
    page = open_page("/battle/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(_path(battle))
    _answered(page)
    page.reload()
    _answered(page)
    assert page.locator("[data-html] script, [data-html] img, [data-html] iframe").count() == 0
    assert not [url for url in asked if not url.startswith((server.url, server.ws_url))]


def test_nothing_that_the_browser_gets_names_a_model_before_the_vote(open_page: Open, person: Person) -> None:
    battle = person.battle("steady", "refuses-401")
    page = open_page("/history/")
    bodies: list[str] = []
    page.on("response", lambda answer: bodies.append(f"{answer.url} {answer.all_headers()}"))
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: bodies.append(str(frame))))
    page.goto(_path(battle))
    expect(page.get_by_text("could not answer")).to_be_visible()
    bodies.append(page.content())
    page.goto("/history/")
    bodies.append(page.content())
    text = " ".join(bodies).lower()
    assert "assistant a" in text
    # History also holds battles that are voted on; only this one's own row is looked at there.
    own = page.locator("li, tr").filter(has=page.locator(f"a[href*='{battle['id']}']")).first.inner_html().lower()
    before_history = " ".join(bodies[:-1]).lower()
    for clue in (*CLUES, *SECRETS):
        assert clue.lower() not in own
        assert clue.lower() not in before_history.split("/history/")[0]


def test_a_shared_battle_can_be_read_by_anybody_who_has_the_link(open_page: Open, person: Person) -> None:
    page = open_page(_path(person.battle("steady", "other")))
    _answered(page)
    page.keyboard.press("1")
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share-url")).to_be_visible()
    link = page.locator("#share-url").input_value()
    path = "/s/" + link.rstrip("/").rsplit("/", 1)[1] + "/"
    visitor = open_page(path, logged_in=False)
    expect(visitor.get_by_text("Axolotl steady").first).to_be_visible()
    assert visitor.locator("textarea").count() == 0


def test_history_finds_opens_deletes_and_takes_that_back(open_page: Open, person: Person) -> None:
    battle = person.battle("steady", "other", prompt="A question about quinces")
    page = open_page("/history/?q=quinces")
    row = page.get_by_role("link", name="A question about quinces")
    expect(row).to_be_visible()
    page.get_by_role("button", name="Delete: A question").click()
    page.wait_for_url(re.compile("deleted="))
    page.goto("/history/?q=quinces")
    expect(row).to_be_hidden()
    page.go_back()
    page.get_by_role("button", name="Undo").click()
    page.goto("/history/?q=quinces")
    row.click()
    page.wait_for_url(re.compile(battle["id"]))
