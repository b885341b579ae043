"""An evaluation as an administrator has it: priced, watched, read, compared and held against people."""

import re
import uuid

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.live import Person
from tests.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("server")]

# The test server has no worker. Its models must answer within two seconds, which a busy machine may miss: while a run
# is done they have a minute.
RUN_JOBS = """
from accounts.jobs import job_run
from accounts.models import Job
from providers.models import Endpoint
endpoint = Endpoint.objects.filter(slug="axolotl-endpoint")
usual = endpoint.values("first_token_timeout", "idle_timeout").get()
endpoint.update(first_token_timeout=60, idle_timeout=60)
try:
    for job in Job.objects.filter(state="queued", kind="evaluation"):
        job_run(job_id=job.pk)
finally:
    endpoint.update(**usual)
"""
COMPUTE_PAIRS = """
from evaluations.models import RunPair
from evaluations.services import run_pair_refresh
for pair in RunPair.objects.filter(computed_at=None):
    run_pair_refresh(pair_id=pair.pk)
"""
LOOKS = [(1280, True), (390, False)]


def checked(page: Page) -> None:
    """No violation that axe finds, light and dark, on a desk and on a phone, and nothing scrolls sideways."""
    for width, dark in [(1280, False), *LOOKS]:
        page.set_viewport_size({"width": width, "height": 844})
        # Without motion, else axe may look at a colour half-way between two.
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        found = Axe().run(page).response["violations"]
        assert not found, [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
    page.set_viewport_size({"width": 1280, "height": 844})


def test_from_the_price_to_the_answers(open_page: Open, server: Server, person: Person) -> None:
    person.account = server.accounts[0]
    slug = f"own-{uuid.uuid4().hex[:8]}"
    questions = [
        {"question_id": number, "category": category, "turns": ["Why is the sky blue?", "And at night?"]}
        for number, category in enumerate(("math", "writing", "stem"), start=1)
    ]
    references = [{"question_id": 1, "author": "somebody", "turns": ["Light scatters.", "There is none."]}]
    given = {"slug": slug, "name": slug, "questions": questions, "reference_answers": references}
    assert person.call("POST", "question-sets/", given)[0] == 201

    page = open_page("/evaluations/new/")
    page.get_by_label("Name").fill(slug)
    page.get_by_label("Questions", exact=True).select_option(slug)
    for script in ("steady", "hostile"):
        page.locator(f"#id_models input[value='axolotl-{script}']").check()
    page.locator("#id_judges input[value='axolotl-grades']").check()
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_role("heading", name="What it would take")).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("12")
    checked(page)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/evaluations/[0-9a-f-]{36}/"))
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("link", name="3", exact=True)).to_be_visible()
    checked(page)

    server.manage("shell", "-v0", "-c", RUN_JOBS)
    expect(page.get_by_role("heading", name="Scores")).to_be_visible()
    expect(page.locator(".matrix td a").first).to_have_text("7.0")
    checked(page)
    page.locator(".matrix td a").first.click()
    expect(page.get_by_role("heading", name="Question 1", exact=False)).to_be_visible()
    expect(page.locator(".answers .panel")).to_have_count(2)
    checked(page)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="Question 2", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?models=axolotl-"))
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Light scatters.")).to_be_visible()
    page.get_by_text("Axolotl grades: 7").first.click()
    expect(page.get_by_text("It says what was asked.").first).to_be_visible()
    page.get_by_role("link", name="Answers", exact=True).click()
    page.get_by_label("Category").select_option("stem")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#found")).to_contain_text("1 question")
    checked(page)
    page.get_by_role("link", name="Judges", exact=True).click()
    expect(page.get_by_role("heading", name="What each judge leans towards")).to_be_visible()
    checked(page)

    run = re.search("[0-9a-f-]{36}", page.url)
    assert run is not None
    models = "first_model=Axolotl+steady&second_model=Axolotl+hostile"
    page.goto(f"/evaluations/compare/?first={run[0]}&second={run[0]}&{models}")
    expect(page.get_by_role("status")).to_contain_text("being computed")
    server.manage("shell", "-v0", "-c", COMPUTE_PAIRS)
    expect(page.get_by_role("heading", name="Questions that changed most")).to_be_visible()
    checked(page)


def test_votes_of_people_are_imported_and_held_against_a_judge(open_page: Open, server: Server, person: Person) -> None:
    person.account = server.accounts[0]
    page = open_page("/evaluations/votes/", width=390)
    checked(page)
    page.get_by_label("Name").fill(f"votes-{uuid.uuid4().hex[:8]}")
    rows = "question_id,category,turn,model_a,model_b,human,human_winner,judge,judge_winner\n"
    rows += "1,math,1,x,y,ann,model_a,j,model_a\n1,math,1,x,y,bob,tie,j,model_a\n"
    page.locator("#id_file").set_input_files({"name": "v.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("50.0% (1 of 2)").first).to_be_visible()
    checked(page)
