"""Images beside a prompt, as a person puts them there."""

import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.live import Person

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]

# What the clipboard and the mouse bring, given to the form as the browser gives it.
BRING = """([how, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "brought.png", { type: "image/png" }));
  const make = { paste: () => new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
                 drop: () => new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }) };
  document.querySelector("textarea").dispatchEvent(make[how]());
}"""


ALL_THERE = "[...document.querySelectorAll('.turn-images img')].every((one) => one.naturalWidth > 0)"


def png(width: int = 60, height: int = 40, colour: str = "teal") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def bring(page: Page, how: str) -> None:
    page.evaluate(BRING, [how, list(png(colour="orange"))])


def choose(page: Page, *images: bytes) -> None:
    files: Any = [{"name": f"{n}.png", "mimeType": "image/png", "buffer": data} for n, data in enumerate(images)]
    page.locator("[data-tray-files]").set_input_files(files)


def thumbnails(page: Page) -> Any:
    return page.locator(".tray-item img:visible")


def test_images_are_chosen_pasted_dropped_taken_out_sent_and_there_after_a_reload(
    open_page: Open, person: Person
) -> None:
    page = open_page("/battle/")
    choose(page, png())
    expect(thumbnails(page)).to_have_count(1)
    bring(page, "paste")
    expect(thumbnails(page)).to_have_count(2)
    bring(page, "drop")
    expect(thumbnails(page)).to_have_count(3)
    page.get_by_role("button", name="Take image 2 out").click()
    expect(thumbnails(page)).to_have_count(2)
    page.reload()
    expect(thumbnails(page)).to_have_count(2)
    page.locator("#prompt").fill("What do these show?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/battles/"))
    expect(page.locator("#votebar")).to_be_visible()
    expect(page.get_by_alt_text("Image 2 of the prompt")).to_be_visible()
    page.wait_for_function(ALL_THERE)
    choose(page, png(1600, 1200))
    expect(thumbnails(page)).to_have_count(1)
    page.locator("#follow-up").fill("And this?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn-images img")).to_have_count(3)
    expect(thumbnails(page)).to_have_count(0)
    expect(page.locator("#votebar")).to_be_visible()
    page.reload()
    expect(page.locator(".turn-images img")).to_have_count(3)
    page.wait_for_function(ALL_THERE)
    page.get_by_role("button", name="A is better").click()
    expect(page.locator("#outcome")).to_be_visible()
    _, battle = person.call("POST", f"battles/{page.url.split('/')[-2]}/share/")
    page.goto("/history/")
    expect(page.get_by_text("3 images").first).to_be_visible()
    stranger = open_page(urlsplit(battle["share_url"]).path, logged_in=False)
    expect(stranger.locator(".turn-images img")).to_have_count(3)
    stranger.wait_for_function(ALL_THERE)


def test_what_cannot_be_sent_is_said_in_place(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/battle/")
    problem = page.locator("[data-tray-problem]")
    page.locator("[data-tray-files]").set_input_files(
        [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no image"}]
    )
    expect(problem).to_contain_text("notes.txt cannot be used")
    large: Any = {"name": "large.png", "mimeType": "image/png", "buffer": bytes(10 * 1024 * 1024 + 1)}
    page.locator("[data-tray-files]").set_input_files([large])
    expect(problem).to_contain_text("large.png is larger than")
    choose(page, *[png()] * 5)
    expect(problem).to_contain_text("At most 4 images")
    expect(thumbnails(page)).to_have_count(4)
    for _ in range(4):
        page.get_by_role("button", name="Take image 1 out").click()
    choose(page, b"\x89PNG and then rubbish")
    expect(problem).to_contain_text("JPEG, PNG, WebP or GIF")
    expect(page.locator(".tray-item")).to_have_count(0)
    problems: list[str] = open_page.problems  # type: ignore[attr-defined]
    problems[:] = [said for said in problems if "400" not in said]


def test_a_side_that_cannot_see_costs_neither_prompt_nor_image(open_page: Open, person: Person) -> None:
    battle = person.battle("steady", "bytes")
    page = open_page(f"/battles/{battle['id']}/")
    expect(page.locator("#votebar")).to_be_visible()
    choose(page, png())
    expect(thumbnails(page)).to_have_count(1)
    page.locator("#follow-up").fill("Look at this.")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-errors")).to_contain_text("no images can be sent")
    expect(page.locator("#follow-up")).to_have_value("Look at this.")
    expect(thumbnails(page)).to_have_count(1)
    page.keyboard.press("Shift+Tab")
    page.get_by_role("button", name="B is better").click()
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.get_by_role("button", name="Add images")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("[data-tray-problem]")).to_contain_text("cannot look at images")


def test_a_named_model_that_cannot_see_closes_the_door_before_the_upload(open_page: Open) -> None:
    page = open_page("/battle/")
    page.get_by_text("Named", exact=True).click()
    page.locator("#model-a").select_option("axolotl-bytes")
    button = page.get_by_role("button", name="Add images")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)
    expect(page.locator("[data-tray-problem]")).to_contain_text("cannot look at images")
    page.locator("#model-a").select_option("axolotl-eyes")
    page.locator("#model-b").select_option("axolotl-steady")
    expect(button).to_have_attribute("aria-disabled", "false")
    expect(page.locator("[data-tray-problem]")).to_be_hidden()
    with page.expect_file_chooser():
        button.focus()
        page.keyboard.press("Enter")
    page.get_by_text("Blind", exact=True).click()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_images_are_accessible_everywhere(open_page: Open, person: Person, width: int, dark: bool) -> None:
    status, image = person.upload(png(1200, 300))
    assert status == 201
    battle = person.battle("steady", "other", images=[image["id"]])
    page = open_page(f"/battles/{battle['id']}/", width=width, dark=dark)
    expect(page.locator("#votebar")).to_be_visible()
    choose(page, png(), png(colour="white"))
    expect(thumbnails(page)).to_have_count(2)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
