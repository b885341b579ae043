"""The API against its own description: whatever is sent, no 5xx and no answer that is not documented.

A real server is asked, since answers are written on its event loop. The models' endpoint is a closed port, so every
answer fails at once; what models say is tested elsewhere.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks

from accounts.models import Scope
from tests import server


def not_a_server_error(context: Any, response: Any, case: schemathesis.Case) -> bool | None:
    """Models that nobody answers for rest after a while, which the API says with a 503: no fault of its own."""
    if response.status_code == 503 and response.json()["error"]["code"] == "too_few_models":
        return None
    found: bool | None = checks.not_a_server_error(context, response, case)
    return found


CHECKED = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
SCHEMA_FILE = Path(__file__).resolve().parent.parent.parent / "docs" / "openapi.yaml"
NOBODY_LISTENS = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def tourney(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    running = server.start(tmp_path_factory.mktemp("schema"), upstream_url=NOBODY_LISTENS, accounts=1)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def key(tourney: server.Server) -> str:
    issued = tourney.manage("apikey_issue", "schema", "--scopes", ",".join(Scope.values), "--create-user")
    return issued.splitlines()[-1]


@pytest.fixture(scope="module")
def battles(tourney: server.Server, key: str) -> Iterator[str]:
    """Ids of real battles: generated ones would only ever be 404s."""
    address, headers = f"{tourney.url}/api/v1/battles/", {"X-API-Key": key}
    made = [requests.post(address, json={"prompt": f"Hello {n}"}, headers=headers, timeout=30) for n in range(12)]
    ids = [answer.json()["id"] for answer in made if answer.ok]
    assert ids, made[0].text
    return itertools.cycle(ids)


schema = schemathesis.openapi.from_path(SCHEMA_FILE)


@pytest.mark.schema
@schema.parametrize()
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
def test_the_api_answers_as_it_says(
    case: schemathesis.Case, tourney: server.Server, key: str, battles: Iterator[str]
) -> None:
    case.call_and_validate(base_url=tourney.url, headers={"X-API-Key": key}, checks=CHECKED)
    if "battle_id" in (case.path_parameters or {}):
        case.path_parameters["battle_id"] = next(battles)
        case.call_and_validate(base_url=tourney.url, headers={"X-API-Key": key}, checks=CHECKED)
