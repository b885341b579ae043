"""The planner in the admin: what an address asks for is planned, what is wrong is said, and a button makes engines."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape
from pytest_django import Settings

from accounts.models import AuditEntry
from providers.engines import gpus
from providers.engines.configs import known
from providers.engines.packing import Gpu
from providers.engines.services import engines_make
from providers.models import Engine, LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:providers_engine_plan")
SMALL = {"models": ["llama-3.2-1b", "smollm2-135m"], "memory": "24", "context": "4096"}
NO_CARD = "no NVIDIA driver answers here (none); give their memory instead"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


@pytest.fixture(autouse=True)
def no_gpus(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.VAR, settings.MODELS = tmp_path, tmp_path / "models"
    monkeypatch.setattr(gpus, "gpus_read", refuse)


def refuse() -> list[Gpu]:
    raise gpus.NoGpu(NO_CARD)


def look(client: Client, asked: dict[str, Any]) -> str:
    answer = client.get(PAGE, asked)
    assert answer.status_code == 200
    return answer.content.decode()


def make(client: Client, asked: dict[str, Any], way: str = "0") -> Any:
    return client.post(f"{PAGE}?{urlencode(asked, doseq=True)}", {"way": way}, follow=True)


def downloaded(models: Path, hub_id: str, config: dict[str, Any]) -> Path:
    folder = models / hub_id.replace("/", "--")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tourney.json").write_text(json.dumps({"hub_id": hub_id, "commit": "c" * 40, "files": []}))
    return folder


def test_it_opens_empty_and_the_list_of_engines_leads_there(operator: Client) -> None:
    page = look(operator, {})
    assert 'value="qwen2.5-7b"' in page
    assert "no NVIDIA driver answers here" in page
    assert "errorlist" not in page
    assert PAGE in operator.get(reverse("admin:providers_engine_changelist")).content.decode()


def test_an_address_says_all_that_is_asked(operator: Client) -> None:
    asked = {"models": ["llama-3.1-8b", "mistral-7b", "3b"], "memory": "24", "context": "4096", "concurrency": "2"}
    page = look(operator, asked | {"host_memory": "64"})
    assert "fits with 4-bit" not in page.partition("As asked")[0]
    assert "turn 2" in page
    assert "sleep level 1" in page
    assert "In 4 bits, context 4,096, 2 at once" in page
    assert 'value="llama-3.1-8b" checked' in page
    assert 'id="others" name="models" value="3b"' in page
    assert "fits with 4-bit" in look(operator, {"models": "phi-3-mini", "memory": "6", "context": "4096"})


def test_the_gpus_of_the_machine_are_taken_where_none_are_written(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpus, "gpus_read", lambda: [Gpu(0, "NVIDIA L4", 22.5), Gpu(1, "NVIDIA L4", 22.5)])
    page = look(operator, {"models": "qwen2.5-7b", "context": "4096"})
    assert "0: NVIDIA L4, 22.5 GiB; 1: NVIDIA L4, 22.5 GiB" in page
    assert "always" in page


def test_a_web_process_that_may_not_see_the_gpus_hears_of_them_from_the_engine_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(gpus.NoGpu):
        gpus.gpus_here(tmp_path)
    monkeypatch.setattr(gpus, "gpus_read", lambda: [Gpu(0, "NVIDIA L4", 22.5)])
    gpus.gpus_note(tmp_path / "engines")
    monkeypatch.setattr(gpus, "gpus_read", refuse)
    assert gpus.gpus_here(tmp_path / "engines") == [Gpu(0, "NVIDIA L4", 22.5)]
    gpus.gpus_note(tmp_path / "engines")  # the card is gone
    with pytest.raises(gpus.NoGpu):
        gpus.gpus_here(tmp_path / "engines")
    (tmp_path / "engines" / gpus.NOTE).write_text('[{"index": "x"}]')
    with pytest.raises(gpus.NoGpu):
        gpus.gpus_here(tmp_path / "engines")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"models": "", "memory": "24"}, "Choose a model."),
        ({"models": "llama-3.2-1b"}, "Write the memory of the GPU: no NVIDIA driver answers here (none)."),
        ({"models": "nobody/nothing", "memory": "24"}, "nobody/nothing is not here. Bring it with manage.py models_"),
        ({"models": " ".join(f"{n}b" for n in range(1, 40)), "memory": "24"}, "Choose at most 30 models."),
        ({"models": "7b", "memory": "a lot"}, "Write numbers, as 24 or 24 24."),
        ({"models": "7b", "memory": "0"}, "Up to 16 GPUs of more than 0 and up to 10,000 GiB."),
        ({"models": "7b", "memory": "nan"}, "Up to 16 GPUs"),
        ({"models": "7b", "memory": "24 " * 17}, "Up to 16 GPUs"),
        ({"models": "7b", "memory": "24", "context": "-1"}, "greater than or equal to 128"),
        ({"models": "7b", "memory": "24", "concurrency": "many"}, "Enter a whole number."),
        ({"models": "7b", "memory": "24", "quantization": "magic"}, "Select a valid choice."),
        ({"models": "<script>x</script>", "memory": "24"}, escape("<script>x</script> is not here")),
        ({"models": "0b", "memory": "24"}, "0b is not here"),
        ({"models": "9" * 400 + "b", "memory": "24"}, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_planned(operator: Client, asked: dict[str, str], words: str) -> None:
    page = look(operator, asked)
    assert words in page
    assert "As asked" not in page
    assert "<script>x" not in page


@pytest.mark.parametrize(
    "broken",
    [
        {"num_key_value_heads": "many"},
        {"layer_types": 7},
        {"head_dim": "wide"},
        {"n_routed_experts": [1]},
        {"text_config": 1},
    ],
)
def test_a_config_that_others_broke_is_named(operator: Client, settings: Settings, broken: dict[str, Any]) -> None:
    folder = downloaded(settings.MODELS, "org/odd", dict(known()["llama-3.2-1b"]) | broken)
    assert "config.json is not one that we can count" in look(operator, {"models": "org/odd", "memory": "24"})
    (folder / "config.json").write_text("[" * 100_000)
    assert "cannot be read" in look(operator, {"models": "org/odd", "memory": "24"})


def test_the_button_makes_the_engines_that_the_plan_proposes(operator: Client, settings: Settings) -> None:
    folder = downloaded(settings.MODELS, "Qwen/Qwen2.5-7B-Instruct", dict(known()["qwen2.5-7b"]))
    asked = {
        "models": ["Qwen/Qwen2.5-7B-Instruct", "llama-3.2-1b"],
        "memory": "24",
        "context": "4096",
        "eager": "on",
        "requests": "32",
    }
    assert "Make these 2 engines" in look(operator, asked)
    page = make(operator, asked)
    assert page.redirect_chain[-1][0] == reverse("admin:providers_engine_changelist")
    assert "2 engines were made: qwen2-5-7b-instruct, llama-3-2-1b-instruct" in page.content.decode()
    large, small = Engine.objects.order_by("-memory_share")
    assert (large.slug, large.model) == ("qwen2-5-7b-instruct", str(folder))
    assert (small.slug, small.model) == ("llama-3-2-1b-instruct", "meta-llama/Llama-3.2-1B-Instruct")
    assert (large.context, large.gpus, large.desired) == (4096, "0", "awake")
    assert large.extra_arguments == ["--enforce-eager", "--max-num-seqs", "32"]
    assert large.memory_share
    assert small.memory_share
    assert 0.7 < large.memory_share + small.memory_share <= 0.92
    assert large.port != small.port
    assert set(LanguageModel.objects.values_list("name", "context_window")) == {
        ("Qwen2.5-7B-Instruct", 4096), ("Llama-3.2-1B-Instruct", 4096)
    }  # fmt: skip
    assert set(AuditEntry.objects.filter(action="engine_add").values_list("subject", flat=True)) == {
        large.slug, small.slug
    }  # fmt: skip


def test_pressed_again_it_makes_none_twice(operator: Client) -> None:
    make(operator, SMALL)
    assert "is there: smollm2-135m-instruct" in look(operator, SMALL)
    assert "There is nothing to make" in make(operator, SMALL).content.decode()
    fields = {"model": "HuggingFaceTB/SmolLM2-135M-Instruct", "quantization": ""}
    assert engines_make(wanted=[fields]) == []
    assert Engine.objects.count() == 2
    more = make(operator, SMALL | {"models": [*SMALL["models"], "gpt2-large"], "context": "1024"})
    assert "1 engine was made: gpt2-large" in more.content.decode()


def test_an_engine_that_is_there_otherwise_is_shown_as_it_is(operator: Client) -> None:
    make(operator, SMALL)
    assert "with share" not in look(operator, SMALL)
    tiny = Engine.objects.get(slug="smollm2-135m-instruct")
    Engine.objects.filter(pk=tiny.pk).update(memory_share=0.5)
    assert "is there: smollm2-135m-instruct, with share 0.50 and context 4,096" in look(operator, SMALL)
    Engine.objects.filter(pk=tiny.pk).update(memory_share=tiny.memory_share, context=None)
    assert f"with share {tiny.memory_share:.2f} and context 8,192" in look(operator, SMALL)


def test_a_plan_of_many_models_asks_the_database_no_more_often(operator: Client) -> None:
    def queries(names: list[str]) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert "Make these" in look(operator, SMALL | {"models": names, "memory": "80 80"})
        return len(asked)

    names = [name for name in known() if "/" not in name and name != "deepseek-v3"]
    assert queries(names) == queries(names[:2])


def test_those_that_take_turns_are_made_so(operator: Client) -> None:
    asked = {"models": ["llama-3.1-8b", "mistral-7b"], "memory": "24", "context": "8192", "host_memory": "8"}
    make(operator, asked)
    assert sorted(Engine.objects.values_list("desired", "sleep_level")) == [("asleep", 2), ("awake", 2)]
    Engine.objects.all().delete()
    make(operator, asked, way="1")
    assert {(one.desired, one.quantization) for one in Engine.objects.all()} == {("awake", "bitsandbytes")}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"models": "7b", "memory": "24"}, "It is a size and no model."),
        ({"models": "llama-3.2-1b", "memory": "24", "quantization": "awq"}, "It is not stored in AWQ."),
        ({"models": "deepseek-v3", "memory": "24"}, "does not fit"),
    ],
)
def test_what_cannot_run_has_no_button(operator: Client, asked: dict[str, str], words: str) -> None:
    page = look(operator, asked)
    assert words in page
    assert "Make this engine" not in page
    assert "There is nothing to make" in make(operator, asked).content.decode()
    assert not Engine.objects.exists()


def test_a_checkpoint_that_is_quantized_itself_is_run_as_it_is(operator: Client, settings: Settings) -> None:
    config = dict(known()["qwen2.5-7b"]) | {"quantization_config": {"quant_method": "awq", "bits": 4}}
    downloaded(settings.MODELS, "Qwen/Qwen2.5-7B-Instruct-AWQ", config)
    make(operator, {"models": "Qwen/Qwen2.5-7B-Instruct-AWQ", "memory": "12", "quantization": "awq", "fp8_cache": "on"})
    engine = Engine.objects.get()
    assert (engine.quantization, engine.extra_arguments) == ("", ["--kv-cache-dtype", "fp8"])


def test_to_look_is_not_to_make(client: Client) -> None:
    watcher = factories.user(is_staff=True)
    client.force_login(watcher)
    assert client.get(PAGE).status_code == 403
    watcher.user_permissions.add(Permission.objects.get(codename="view_engine"))
    page = look(client, SMALL)
    assert "always" in page
    assert "Make these" not in page
    assert PAGE in client.get(reverse("admin:providers_engine_changelist")).content.decode()
    assert make(client, SMALL).status_code == 403
    assert not Engine.objects.exists()


def test_who_may_only_look_learns_nothing_of_the_machines_files(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    downloaded(settings.MODELS, "org/here", dict(known()["llama-3.2-1b"]))
    (tmp_path / "config.json").write_text("no model")
    elsewhere = downloaded(tmp_path / "elsewhere", "org/secret", dict(known()["llama-3.2-1b"]))
    watcher = factories.user(is_staff=True)
    watcher.user_permissions.add(Permission.objects.get(codename="view_engine"))
    client.force_login(watcher)
    for name in (str(elsewhere), str(elsewhere / "config.json"), str(tmp_path), "..", "/etc/shadow", "manage.py"):
        assert f"{name} is not here. Bring it" in look(client, {"models": name, "memory": "24"}), name
    assert "always" in look(client, {"models": "org/here", "memory": "24"})
    client.force_login(factories.staff())
    assert "always" in look(client, {"models": str(elsewhere), "memory": "24"})


def test_a_driver_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    class NVMLError(Exception):
        pass

    def fail(*_: Any) -> Any:
        raise NVMLError("Not Supported")

    library = SimpleNamespace(
        NVMLError=NVMLError, nvmlInit=lambda: None, nvmlShutdown=lambda: None, nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index, nvmlDeviceGetName=lambda _: "GB10",
        nvmlDeviceGetMemoryInfo=fail,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", library)
    with pytest.raises(gpus.NoGpu, match="Not Supported"):
        gpus.gpus_read()
    library.nvmlDeviceGetCount = lambda: 0
    with pytest.raises(gpus.NoGpu, match="no GPU"):
        gpus.gpus_read()
    library.nvmlDeviceGetCount = lambda: 1
    library.nvmlDeviceGetMemoryInfo = lambda _: SimpleNamespace(total=24 * 2**30)
    assert gpus.gpus_read() == [Gpu(0, "GB10", 24.0)]
    library.nvmlInit = fail
    with pytest.raises(gpus.NoGpu, match="no NVIDIA driver"):
        gpus.gpus_read()
