"""Every tool by its schema: a call is done once or refused. Who may do what, the API's own test tries."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import anyio
import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode

from bot.web.api import door
from bot.web.api.client import ApiClient
from bot.web.mcp import tools
from ledger.events.conversation import CommandGiven
from ledger.log import event_store
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import bridge
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import PUBLIC, Pages

Sent = list[tuple[str, dict[str, Any]]]
EXAMPLES = 3  # of arguments that fit a tool's schema, and as many that do not


def test_whatever_an_agent_sends_is_done_once_or_refused(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "A_MINUTE", 10**6)
    item = asked(pages, "8080", "8081")
    hide(pages.cardinal)
    hide(pages.cardinal, "board")
    card, run = pages.cardinal.card(item), pages.cardinal.run_of(item).run_id
    owner, _, repository = (card.repository or "").partition("/")
    there = {"owner": owner, "repository": repository, "number": card.number, "run": run}
    calls = [
        (
            name,
            {**fields, **{key: value for key, value in there.items() if key in fields}} if fits else fields,
        )
        for fits, name, fields in generated(EXAMPLES)
    ]
    job = {name: there[name] for name in ("owner", "repository", "number")}
    calls.append(("resume_job", {**job, "text": "1"}))
    assert {200, 404} <= set(play(pages, calls)) <= {200, 400, 403, 404, 409, 422, 429}
    assert pages.cardinal.events(CommandGiven)


def play(pages: Pages, calls: Sent) -> list[int]:
    """Make each call twice, as one request that is repeated; return the API's answers to the first."""
    statuses, program = list[int](), Program(pages, "bob")

    async def note(answer: httpx2.Response) -> None:
        statuses.append(answer.status_code)

    async def whole() -> None:
        headers = {"Authorization": f"Bearer {program.token}"}
        client = ApiClient(
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(bridge(pages)),
                base_url=PUBLIC,
                headers=headers,
                event_hooks={"response": [note]},
            )
        )
        for number, (name, fields) in enumerate(calls):
            result = await tools.call_tool(client, name, fields, "s", number)
            before, seen = last(pages), len(statuses)
            again = await tools.call_tool(client, name, fields, "s", number)
            assert again.is_error == result.is_error or name == "resume_job", (name, fields)
            assert last(pages) == before, f"{name} acted twice: {fields}"
            del statuses[seen:]

    anyio.run(whole)
    return statuses


def last(pages: Pages) -> int:
    """Return the number of the last event."""
    with event_store.reading(pages.cardinal.services.engine) as db:
        return event_store.last_seq(db)


def generated(examples: int) -> Iterator[tuple[bool, str, dict[str, Any]]]:
    """Yield whether the arguments fit the schema, the tool's name, and them."""
    schemas = {tool.name: tool.input_schema for tool in tools.list_tools()}
    paths = {
        f"/{name}": {
            "post": {
                "operationId": name,
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
                "responses": {"200": {"description": "done"}},
            }
        }
        for name, schema in schemas.items()
    }
    about = {"openapi": "3.1.0", "info": {"title": "tools", "version": "1"}, "paths": paths}
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(about)))
    for name, mode in product(schemas, GenerationMode):
        cases = schema.find_operation_by_id(name).as_strategy(generation_mode=mode)
        yield from ((mode is GenerationMode.POSITIVE, name, fields) for fields in bodies(cases, examples))


def bodies(cases: SearchStrategy[Case[Any]], examples: int) -> list[dict[str, Any]]:
    """Return the arguments of so many calls: the protocol has none but objects."""
    made: list[dict[str, Any]] = []

    def keep(case: Case[Any]) -> None:
        if isinstance(case.body, dict):
            made.append(case.body)

    limits = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    limits(given(cases)(keep))()
    return made
