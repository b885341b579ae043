"""A real browser on a real server. A page that logs an error, breaks the content policy or fails a request fails its
test."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.live import Person
from tests.server import Server

WATCH_POLICY = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

expect.set_options(timeout=15_000)

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is missing")
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser, server: Server, person: Person) -> Iterator[Open]:
    """`open_page(path, width=, dark=, logged_in=, script=)`: a page of its own; all are watched until the test ends.
    `script` runs in it before its own scripts do."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(message.text)

    def make(path: str, *, width: int = 1280, dark: bool = False, logged_in: bool = True, script: str = "") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme="dark" if dark else "light",
            base_url=server.url,
            has_touch=width < 600,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        if logged_in:
            context.add_cookies([{"name": server.cookie_name, "value": person.account.session_key, "url": server.url}])
        context.add_init_script(WATCH_POLICY + script)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", note)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.goto(path)
        return page

    make.problems = problems  # type: ignore[attr-defined] # a test that expects one takes it out
    yield make
    for context in contexts:
        context.close()
    assert not problems
