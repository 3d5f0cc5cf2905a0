"""Every operation by its description, with what schemathesis makes of it: no fault is the server's."""

import json
from itertools import count, product
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bot.web.api import description, door
from bot.web.api.operation import OPERATIONS
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.test_fuzz import last
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import PUBLIC, Pages

CHECKS = [
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
]


def test_whatever_a_program_sends_is_done_or_refused_as_described(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzz(pages, monkeypatch, examples=4)


@pytest.mark.soak(
    instead="tests/bot/web/api/test_fuzz.py::test_whatever_a_program_sends_is_done_or_refused_as_described"
)
@pytest.mark.timeout(1800)
def test_so_is_what_it_sends_in_thousands_of_requests(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz(pages, monkeypatch, examples=500)


def fuzz(pages: Pages, monkeypatch: pytest.MonkeyPatch, *, examples: int) -> None:
    """Send so many requests of each operation that fit its description, and as many that do not.

    Each is sent first by somebody without rights, for whom nothing of it is there to be done.
    """
    monkeypatch.setattr(door, "A_MINUTE", 10**6)
    item = asked(pages, "8080", "8081")
    for repository in ("shop", "board"):
        hide(pages.cardinal, repository)
    card, run = pages.cardinal.card(item), pages.cardinal.run_of(item)
    owner, _, repository = (card.repository or "").partition("/")
    there = {"owner": owner, "repository": repository, "number": card.number, "run": run.run_id}
    tokens, keys = {login: Program(pages, login).token for login in ("mallory", "bob")}, count()
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(description.document())))
    strangers, statuses = set[tuple[str, int]](), set[tuple[str, int]]()

    def send(case: Case[Any], login: str) -> tuple[str, int]:
        """Return the operation and the answer's status; an act that is sent again acts no more."""
        headers = {"Authorization": f"Bearer {tokens[login]}"}
        if case.method == "POST":
            headers["Idempotency-Key"] = f"{login}-{next(keys)}"
        answer = case.call(base_url=f"{PUBLIC}/api/v1", headers=headers)
        case.validate_response(answer, checks=CHECKS)
        if case.method == "POST":
            before = last(pages)
            case.call(base_url=f"{PUBLIC}/api/v1", headers=headers)
            assert last(pages) == before
        return case.operation.definition.raw["operationId"], answer.status_code

    def send_as_both(case: Case[Any]) -> None:
        case.operation.app = pages.app
        assert case.meta is not None
        if case.meta.generation.mode is GenerationMode.POSITIVE:  # what is there has more to say
            case.path_parameters = {name: there.get(name, it) for name, it in case.path_parameters.items()}
        before = last(pages)
        strangers.add(send(case, "mallory"))
        assert last(pages) == before
        statuses.add(send(case, "bob"))

    limits = settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a search for a shorter example would outlast the test's own limit
    )
    for name, mode in product(OPERATIONS.names(), GenerationMode):
        cases = schema.find_operation_by_id(name).as_strategy(generation_mode=mode)
        limits(given(cases)(send_as_both))()
    allowed = {200, 400, 401, 403, 404, 405, 406, 413, 415, 422}
    assert {status for _, status in strangers} <= allowed, strangers
    done = {("get_job", 200), ("get_run", 200), ("give_command", 200)}
    assert not done & strangers
    assert {name for name, status in statuses if status < 500} == set(OPERATIONS.names())
    assert done <= statuses, statuses
