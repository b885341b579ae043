"""What a run leaves in a folder, to be sent and read elsewhere; and what a notebook gets."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluations import api
from evaluations.errors import EvaluationInvalid
from evaluations.fitting import fits
from evaluations.memory import Watch, listener
from evaluations.models import Question, Run, Summary
from evaluations.reports.figures import FIGURES
from evaluations.reports.html import headline
from evaluations.services import run_do, run_start
from providers.models import Engine
from tests.evaluations.scripted import Always, Ground, Says

pytestmark = pytest.mark.django_db

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)> **bold**"


def done(run: Run) -> api.Results:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return api.Results(run)


class Tags(HTMLParser):
    """Every tag with its attributes, and that all that is opened is closed."""

    VOID = {"meta", "link", "img", "br", "hr", "input"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_needs_nothing_else_and_runs_nothing(tiny: Ground, tmp_path: Path) -> None:
    tiny.upstream.scripts["alpha"] = Always(HOSTILE)
    model = tiny.model("beta")
    model.name = "<b>Beta & co</b>"
    model.save()
    Question.objects.filter(number=1).update(turns=[HOSTILE, "And?"])
    done(tiny.run()).save(tmp_path)
    text = (tmp_path / "report.html").read_text()
    tags = Tags(text).found
    names = {name for name, _ in tags}
    assert names.isdisjoint({"script", "img", "link", "iframe", "b"})
    assert text.count("</style>") == 1
    assert not [name for _, own in tags for name in own if name.startswith("on") or name in ("src", "href")]
    assert not re.findall(r"url\(|@import", text)
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;b&gt;Beta &amp; co&lt;/b&gt;" in text
    assert text.count("<svg") >= 6


def test_the_report_says_who_is_ahead_and_how_sure_that_is(tiny: Ground) -> None:
    tiny.upstream.scripts["alpha"] = Always("I say 9")
    found = done(tiny.run())
    assert "Alpha scores 9.00 of 10 (95%: 9.00 to 9.00), ahead of all others" in headline(found.document)
    tiny.upstream.scripts["alpha"] = Says("alpha")
    close = done(tiny.run("close", options={"seed": 1}))
    assert "Alpha scores 1.50 of 10" in headline(close.document)
    assert "do not tell it apart from Beta" in headline(close.document)
    nothing = tiny.run("nothing")
    assert headline(api.Results(nothing).document) == ""


def test_a_run_without_verdicts_or_with_games_only_has_a_report_too(tiny: Ground, tmp_path: Path) -> None:
    done(tiny.run("vague", judges="vague")).save(tmp_path / "vague")
    assert "There are no verdicts yet" in (tmp_path / "vague" / "report.html").read_text()
    done(tiny.run("games", judges="biased", mode="pairwise-all")).save(tmp_path / "games")
    text = (tmp_path / "games" / "report.html").read_text()
    assert "Bradley-Terry" in text
    assert "Flipped by order" in text


def test_scorers_are_in_every_file(tiny: Ground, tmp_path: Path) -> None:
    Question.objects.filter(number=1).update(scorers=[{"kind": "contains", "answers": ["ALPHA"]}])
    done(tiny.run()).save(tmp_path)
    assert "1 of 1, 100.0%" in (tmp_path / "report.html").read_text()
    assert "| Beta | contains | 0 of 1, 0.0% |" in (tmp_path / "summary.md").read_text()
    header, *rows = (tmp_path / "scores.csv").read_text().splitlines()
    place = header.split(",").index("contains_matched")
    assert {row.split(",")[1]: float(row.split(",")[place]) for row in rows} == {"Alpha": 1.0, "Beta": 0.0}


def test_charts_are_there_as_svg_and_png(tiny: Ground, tmp_path: Path) -> None:
    files = done(tiny.run()).save(tmp_path)
    drawn = sorted(path.name for path in files if path.parent.name == "charts")
    assert drawn == sorted(f"{name}.{end}" for name in FIGURES for end in ("svg", "png") if f"{name}.{end}" in drawn)
    assert len(drawn) >= 10
    assert (tmp_path / "charts" / "categories.png").read_bytes().startswith(b"\x89PNG")


def test_a_notebook_gets_data_frames(tiny: Ground) -> None:
    pytest.importorskip("pandas")
    found = done(tiny.run())
    frame = found.frame()
    assert list(frame["model"]) == ["Alpha", "Beta"]
    assert list(frame["turn_2"]) == [2, 2]
    assert found.frame("scores").groupby("model")["score"].mean().to_dict() == {"Alpha": 1.5, "Beta": 1.5}
    assert found.frame("answers")["text"].str.startswith("alpha").sum() == 6
    assert found.frame("games").empty
    with pytest.raises(EvaluationInvalid, match="models, scores"):
        found.frame("nothing")  # type: ignore[arg-type]


def test_without_pandas_it_is_said_what_is_missing(tiny: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(EvaluationInvalid, match="pip install pandas"):
        api.Results(tiny.run()).frame()


def test_the_memory_of_a_server_on_this_machine_is_noted(tiny: Ground, tmp_path: Path) -> None:
    if listener(tiny.upstream.url) is None:
        pytest.skip("this system does not say who listens")
    found = done(tiny.run(models="alpha"))
    peak = found.document["model_results"][0]["generation"]["peak_memory"]
    assert peak > 1_000_000
    stored = Summary.objects.get().document["model_results"][0]["generation"]
    assert stored["peak_memory"] > 1_000_000, "what pages show is stored after the memory is noted"
    found.save(tmp_path)
    assert "MB" in (tmp_path / "report.html").read_text()
    watch = Watch({"elsewhere": "https://api.example.org/v1", "closed": "http://127.0.0.1:9/v1"})
    watch.look()
    assert watch.peaks == {}


def mtbench(*arguments: str) -> None:
    call_command("mtbench", "--models", "alpha", "--judge-model", "judge", *arguments)


@pytest.fixture
def named(tiny: Ground) -> Ground:
    for name in ("alpha", "judge"):
        tiny.model(name)
    return tiny


def test_a_memory_limit_is_checked_where_it_can_be(named: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    mtbench("--memory-limit", "6", "--estimate")
    assert "Alpha: memory could not be checked" in capsys.readouterr().err
    named.endpoint.slug = "embedded"
    named.endpoint.save()
    mtbench("--memory-limit", "6", "--estimate")
    assert "Alpha: fits" in capsys.readouterr().err
    with pytest.raises(CommandError, match=r"Alpha: needs about 0.49 GiB, more than the limit of 0.25"):
        mtbench("--memory-limit", "0.25")
    assert not Run.objects.exists()
    assert not named.upstream.requests


@pytest.mark.parametrize(
    ("fields", "limit", "fit", "words"),
    [
        ({"context": 4096}, 8, True, "fits: about"),
        ({"context": 4096}, 3, False, "it fits with 4-bit"),
        ({}, 2, False, "more than the limit of 2"),
        ({"model": "nobody/knows-it"}, 8, None, "nobody/knows-it is not here"),
    ],
)
def test_the_planner_is_asked_of_models_on_our_engines(
    named: Ground, fields: dict[str, Any], limit: float, fit: bool | None, words: str
) -> None:
    Engine.objects.create(**{"slug": "own", "model": "llama-3.2-1b", "port": 9000} | fields, endpoint=named.endpoint)
    (found,) = fits([named.model("alpha")], limit)
    assert found.fits is fit
    assert words in str(found)


def test_an_estimate_leaves_no_run_behind(named: Ground) -> None:
    mtbench("--estimate")
    assert not Run.objects.exists()


def test_a_folder_that_cannot_be_written_is_found_out_first(named: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="file"):
        mtbench("--output-dir", str(tmp_path / "file" / "results"))
    assert not named.upstream.requests


def test_a_run_that_a_worker_has_is_not_done_twice(named: Ground) -> None:
    run_start(run=named.run("mine"))
    with pytest.raises(CommandError, match="under way"):
        call_command("mtbench", "--resume", "--name", "mine")


def test_a_set_that_needs_no_judge_is_run_without_one(named: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="judge-model"):
        call_command("mtbench", "--models", "alpha")
    Question.objects.update(scorers=[{"kind": "regex", "pattern": "alpha [12]"}])
    call_command("mtbench", "--models", "alpha")
    assert "3 of 3, 100.0%" in capsys.readouterr().out
    assert not named.upstream.asked("judge")
