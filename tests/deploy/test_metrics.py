"""What Grafana draws, what Prometheus watches and what the page for operators lists, held against what is measured."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from common import metrics

ROOT = Path(__file__).resolve().parent.parent.parent
DASHBOARD = json.loads((ROOT / "deploy/grafana/tourney.json").read_text())
RULES = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
PAGE = (ROOT / "docs/operations.md").read_text()
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
EXPRESSIONS = [rule["expr"] for rule in RULES]
# Prometheus' own.
OTHERS = {"up": {"job", "instance"}}
OF_TYPE = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}


def measured() -> dict[str, set[str]]:
    """Every name that is served, with its labels."""
    found: dict[str, set[str]] = {metrics.QUEUE_LENGTH: set()}
    for metric in vars(metrics).values():
        if isinstance(metric, Counter | Gauge | Histogram):
            (family,) = metric.describe()
            for ending in OF_TYPE.get(family.type, [""]):
                found[family.name + ending] = {*metric._labelnames, *(["le"] if ending == "_bucket" else [])}
    return found


MEASURED = measured()


def named_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:tourney_\w+|up)\b", expression))


def labels_in(expression: str) -> Iterator[str]:
    for inside in re.findall(r"\{([^}]*)\}", expression):
        yield from re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside)
    for inside in re.findall(r"\bby \(([^)]*)\)", expression):
        yield from inside.replace(",", " ").split()


def test_what_is_measured_was_found() -> None:
    """Else the tests below would hold nothing against nothing."""
    assert MEASURED["tourney_votes_total"] == {"choice", "counts"}
    assert MEASURED["tourney_task_seconds_bucket"] == {"task", "state", "le"}
    assert MEASURED["tourney_sockets_open"] == set()


@pytest.mark.parametrize("expression", [*QUERIES, *EXPRESSIONS])
def test_every_metric_and_label_that_is_asked_for_exists(expression: str) -> None:
    names = named_in(expression)
    assert names
    known = OTHERS | MEASURED
    assert names <= known.keys()
    assert set(labels_in(expression)) <= set().union(*(known[name] for name in names))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_what_is_wrong_and_where_to_look_with_labels_that_it_has(rule: dict[str, object]) -> None:
    annotations, expression = rule["annotations"], str(rule["expr"])
    assert isinstance(annotations, dict)
    assert {"summary", "look"} == annotations.keys()
    kept = set(re.findall(r"\w+", " ".join(re.findall(r"\bby \(([^)]*)\)", expression)))) - {"le"}
    if "by (" not in expression:
        kept |= OTHERS["up"]
    assert set(re.findall(r"\$labels\.(\w+)", annotations["summary"])) <= kept
    assert f"| {rule['alert']} |" in PAGE


def test_the_dashboard_draws_all_that_is_measured_and_the_page_lists_it() -> None:
    stems = {re.sub(r"_(bucket|sum|count)$", "", name) for name in MEASURED}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for query in QUERIES for name in named_in(query)} == stems
    assert set(re.findall(r"`(tourney_\w+)`", PAGE)) == stems
