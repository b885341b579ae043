"""The catalogue as a file: five lines add a service; a wrong line, or a second time, changes nothing."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from arena_project.catalogue import catalogue_dump, catalogue_load
from battles.models import Prompt, PromptSet
from common.yaml_lines import FileInvalid
from providers import services
from providers.adapters.base import Finished, Message, TextDelta
from providers.client import stream_answer
from providers.models import Endpoint, LanguageModel
from providers.selectors import target_for
from tests import factories
from tests.fakes import scripts
from tests.fakes.upstream import Upstream

pytestmark = pytest.mark.django_db

WHOLE = """\
endpoints:
  - name: Acme
    base_url: https://acme.example/v1
    api_key_variable: ACME_KEY
    quirks: {max_tokens_field: max_completion_tokens, unsupported: [temperature]}
    requests_per_minute: 60
    currency: USD
    models:
      - upstream_id: acme/large-1.5
        name: Acme Large
        input_price: 0.15
        output_price: 0.6
        sees_images: true
        tags: [large]
      - {upstream_id: acme/small, slug: small, status: hidden}
prompt_sets:
  - name: Geography
    is_suggested: true
    prompts:
      - {title: Capitals, text: Name five capitals., category: reasoning}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(FileInvalid) as caught:
        catalogue_load(text=text)
    assert not Endpoint.objects.exists()
    return caught.value.problems


def test_five_lines_add_a_service(upstream: Upstream) -> None:
    text = f"endpoints:\n  - name: Fake\n    base_url: {upstream.url}\n    models:\n      - upstream_id: steady"
    assert len(text.splitlines()) == 5
    catalogue_load(text=text)
    target = target_for(LanguageModel.objects.available().get())

    async def ask() -> str:
        events = [event async for event in stream_answer(target, [Message("user", "Hi")])]
        assert isinstance(events[-1], Finished)
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    assert asyncio.run(ask()) == scripts.STEADY


def test_a_file_makes_endpoints_models_and_prompts() -> None:
    report = catalogue_load(text=WHOLE)
    assert (len(report.added), len(report.changed), report.same) == (5, 0, 0)
    endpoint = Endpoint.objects.get(slug="acme")
    assert (endpoint.name, endpoint.requests_per_minute) == ("Acme", 60)
    large = LanguageModel.objects.get(slug="acme-large-1-5")
    assert (large.name, str(large.input_price), large.sees_images, large.tags) == (
        "Acme Large",
        "0.150000",
        True,
        ["large"],
    )
    assert LanguageModel.objects.get(slug="small").status == "hidden"
    assert Prompt.objects.get(prompt_set=PromptSet.objects.get(slug="geography")).title == "Capitals"


def test_a_second_time_changes_nothing() -> None:
    catalogue_load(text=WHOLE)
    report = catalogue_load(text=WHOLE)
    assert (report.added, report.changed, report.same) == ([], [], 5)


def test_what_a_file_leaves_out_stays_as_it_is() -> None:
    catalogue_load(text=WHOLE)
    report = catalogue_load(text="endpoints:\n  - {slug: acme, base_url: https://new.example/v1}\n")
    assert report.changed == ["endpoint acme (base_url)"]
    endpoint = Endpoint.objects.get(slug="acme")
    assert (endpoint.base_url, endpoint.requests_per_minute) == ("https://new.example/v1", 60)
    assert endpoint.name == "Acme"
    assert endpoint.language_models.count() == 2


def test_what_is_written_down_can_be_read_again() -> None:
    catalogue_load(text=WHOLE)
    dumped = catalogue_dump()
    before = list(LanguageModel.objects.order_by("slug").values())
    report = catalogue_load(text=dumped)
    assert (report.added, report.changed) == ([], [])
    LanguageModel.objects.all().delete()
    Endpoint.objects.all().delete()
    catalogue_load(text=dumped)
    own = ("id", "endpoint_id", "created_at")
    after = list(LanguageModel.objects.order_by("slug").values())
    assert [{k: v for k, v in row.items() if k not in own} for row in after] == [
        {k: v for k, v in row.items() if k not in own} for row in before
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "endpoints:\n  - name: A\n    base_ulr: https://a.example\n",
            "line 3: base_ulr is not known. Did you mean base_url?",
        ),
        ("endpoints:\n  - {name: A, base_url: nonsense}\n", "line 2: base_url: Enter a valid URL."),
        ("endpoints:\n  - name: A\n", "line 2: base_url is missing."),
        ("endpoints:\n  - base_url: https://a.example\n", "line 2: slug is missing."),
        (
            "endpoints:\n  - name: A\n    base_url: https://a.example\n    currency: EUR\n",
            "line 4: prices are in US dollars",
        ),
        (WHOLE.replace("0.15\n", "cheap\n"), "line 11: input_price: “cheap” value must be a decimal number."),
        (
            WHOLE.replace("slug: small", "slug: acme-large-1-5"),
            "line 15: model acme-large-1-5 stands on line 9 already.",
        ),
        (WHOLE.replace("unsupported:", "unsuported:"), "line 5: quirks: These are no quirks"),
        (
            WHOLE.replace("category: reasoning", "category: cooking"),
            "line 20: category: Value 'cooking' is not a valid choice.",
        ),
        (WHOLE.replace("status: hidden", "status: external"), "line 15: status: external is for models"),
        ("endpoints:\n  - name: A\n\t base_url: x\n", "line 3: found character '\\t' that cannot start any token."),
        ("endpoints: {a: 1}\n", "line 1: endpoints must be a list."),
        ("endpoints:\n  - name: A\n    name: B\n", "line 3: name stands twice."),
        ("a: &a [1]\nb: *a\n", "line 2: aliases (*a) are not read."),
        ("- endpoints\n", "line 1: expected endpoints and prompt_sets."),
        ("endpoints:\n  - {name: A, base_url: https://a.example, api_key_variable: SECRET_KEY}\n", "never sent"),
        ("x" * 5_000_001, "more than 5000000 characters"),
        (WHOLE.replace("0.15\n", "-0.15\n"), "line 11: input_price: Ensure this value is greater than or equal to 0"),
        (WHOLE.replace("0.15\n", "yes\n"), "line 11: input_price: this must be a number."),
        (WHOLE.replace("0.15\n", ".inf\n"), "line 11: .inf is no number that can be stored."),
        (WHOLE.replace("Acme Large", "NO"), "line 10: name: this must be text; put it in quotes."),
        (WHOLE.replace("Acme Large", "3.10"), "line 10: name: this must be text; put it in quotes."),
        (WHOLE.replace("Acme Large", "[Acme]"), "line 10: name: this must be text; put it in quotes."),
        (WHOLE.replace("Acme Large", '"\\0"'), "line 10: the text holds a character that cannot be stored."),
        (WHOLE.replace("Acme Large", '"\\ud800"'), "line 10: the text holds a character that cannot be stored."),
        (WHOLE.replace("Acme Large", "!!binary aGk="), "line 10: binary is not read here."),
        (WHOLE.replace("Acme Large", "!!python/object/apply:os.getcwd []"), "os.getcwd is not read here."),
        (WHOLE.replace("Acme Large", "small"), "line 9: the name small is that of model small already."),
        (WHOLE.replace("[large]", "large"), "line 14: tags: These are no tags"),
        (WHOLE.replace("[temperature]", '[], extra_headers: {X-A: "b\\nc"}'), "is no header that can be sent"),
        (WHOLE.replace("https://", "https://name:key@"), "line 3: base_url: A password does not belong"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_stored(text: str, said: str) -> None:
    assert any(said in problem for problem in problems(text)), problems(text)


def test_what_is_in_the_catalogue_is_not_taken_from_it_by_accident() -> None:
    factories.language_model("other", name="Acme Large", endpoint=factories.endpoint())
    LanguageModel.objects.create(slug="small", name="Imported", upstream_id="small", status="external")
    with pytest.raises(FileInvalid) as caught:
        catalogue_load(text=WHOLE)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["line 9", "line 15"]
    assert "Acme Large is that of model other already" in caught.value.problems[0]
    assert not Endpoint.objects.filter(slug="acme").exists()


def test_ready_entries_give_way_to_what_is_there() -> None:
    factories.language_model("mine", name="GPT-4o mini", endpoint=factories.endpoint())
    services.presets_seed()
    assert LanguageModel.objects.get(name="GPT-4o mini").slug == "mine"
    LanguageModel.objects.filter(slug="kimi-k2").update(name="Our Kimi")
    Endpoint.objects.filter(slug="nvidia").update(is_enabled=False)
    assert services.presets_seed() == 0
    assert LanguageModel.objects.get(slug="kimi-k2").name == "Our Kimi"
    assert not Endpoint.objects.get(slug="nvidia").is_enabled


def test_an_operator_who_forbids_private_networks_gets_the_services_only(settings: Settings) -> None:
    settings.PRIVATE_ENDPOINTS = "forbid"
    assert services.presets_seed() == 9
    assert not Endpoint.objects.filter(base_url__contains="127.0.0.1").exists()
    settings.PRIVATE_ENDPOINTS = "allow"
    assert services.presets_seed() == 4


def test_every_wrong_line_is_named_at_once() -> None:
    assert (
        len(
            problems(
                WHOLE.replace("0.15\n", "cheap\n").replace("0.6\n", "dear\n").replace("large]", "large]\n        x: 1")
            )
        )
        == 3
    )


def test_the_commands_load_try_and_dump(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.yaml"
    path.write_text(WHOLE)
    out = StringIO()
    call_command("catalogue_load", str(path), dry_run=True, stdout=out)
    assert "5 added, 0 changed, 0 as they were (dry run: nothing was stored)" in out.getvalue()
    assert not Endpoint.objects.exists()
    call_command("catalogue_load", str(path), stdout=StringIO())
    call_command("catalogue_dump", output=tmp_path / "dump.yaml")
    assert "ACME_KEY" in (tmp_path / "dump.yaml").read_text()
    path.write_text("endpoints: 3\n")
    with pytest.raises(CommandError, match="line 1: endpoints must be a list"):
        call_command("catalogue_load", str(path))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("catalogue_load", str(tmp_path / "nowhere.yaml"))


@pytest.mark.parametrize("name", ["local", "vllm", "apis", "mixed"])
def test_every_example_loads_and_its_models_can_be_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENROUTER_API_KEY", "CEREBRAS_API_KEY"):
        monkeypatch.setenv(variable, "x")
    services.presets_seed()
    before = set(LanguageModel.objects.values_list("slug", flat=True))
    text = (Path(__file__).parents[2] / "examples" / f"{name}.yaml").read_text()
    assert catalogue_load(text=text).added
    added = LanguageModel.objects.exclude(slug__in=before)
    assert added
    assert set(LanguageModel.objects.active()) >= set(added)
    again = catalogue_load(text=text)
    assert (again.added, again.changed) == ([], [])
