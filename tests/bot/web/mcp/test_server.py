"""The MCP server, by the client of the protocol's authors: tools, resources, and what a job waits for."""

import json
import re

import anyio
import pytest
from mcp import Client, MCPError

from bot.web.api.operation import OPERATIONS
from bot.web.mcp import tools
from bot.web.mcp.tools import JOB_TOOLS
from ledger.events.conversation import CommandGiven
from ledger.events.run import RunStopAsked
from ledger.queue.api_tokens import Scope
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import CLAIMING, Program, lying
from tests.bot.web.api.test_create_job import WISH
from tests.bot.web.mcp.agent import api_client, document, fault, talk
from tests.bot.web.pages.forms import asked, at_work, commands, planned
from tests.bot.web.pages.world import Pages
from tests.house.source import ROOT

JOB = {"owner": "acme", "repository": "shop"}


def name_of(pages: Pages, item: object) -> dict[str, object]:
    return {**JOB, "number": pages.cardinal.card(item).number}  # type: ignore[arg-type]


@pytest.mark.after(scene=Cardinal.at_work)
def test_every_operation_is_a_tool_and_the_job_and_its_run_are_resources(pages: Pages) -> None:
    item = at_work(pages)
    name, run_id = name_of(pages, item), pages.cardinal.run_of(item).run_id
    digest = pages.keep(run_id, "full 1: pytest", "log")

    async def conversation(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {*OPERATIONS.names(), *JOB_TOOLS}
        hints = {key: tool.annotations.read_only_hint for key, tool in listed.items() if tool.annotations}
        assert (hints["get_job"], hints["give_command"], hints["resume_job"]) == (True, False, False)
        job = document(await client.call_tool("get_job", name))
        assert (job["state"], job["run"]) == ("working", run_id)
        assert document(await client.call_tool("list_jobs", {"state": "working"}))["jobs"][0]["run"] == run_id
        uris = [it.uri_template for it in (await client.list_resource_templates()).resource_templates]
        files = "cardinal://runs/{run}/artifacts"
        assert uris == [
            "cardinal://jobs/{owner}/{repository}/{number}",
            "cardinal://runs/{run}",
            files,
            f"{files}/{{digest}}",
        ]
        for uri in (f"cardinal://runs/{run_id}", f"cardinal://jobs/acme/shop/{name['number']}"):
            (content,) = (await client.read_resource(uri)).contents
            assert f'"{run_id}"' in content.text  # type: ignore[union-attr]
        (content,) = (await client.read_resource(f"cardinal://runs/{run_id}/artifacts/{digest}")).contents
        assert "3 tests passed" in content.text  # type: ignore[union-attr]
        for uri in ("cardinal://runs/r999", "cardinal://keys/1", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        prompt = await client.get_prompt("orchestrate", {"goal": "A shop that sells"})
        assert prompt.messages[0].content.text.endswith("A shop that sells")  # type: ignore[union-attr]

    talk(pages, Program(pages, "bob"), conversation)


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_example_of_every_tool_on_the_page_works(pages: Pages) -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| `(\w+)` \|.*\| `(\{.*\})` \|$", page, re.MULTILINE)
    assert {name for name, _ in examples} == {*OPERATIONS.names(), *JOB_TOOLS}
    items = [asked(pages, "8080", "8081") for _ in JOB_TOOLS]
    run_id = pages.cardinal.run_of(items[0]).run_id
    digest = pages.keep(run_id, "full 1: pytest", "log")
    bob, free = Program(pages, "bob"), lying(pages)
    names = {
        "0123456789abcdef01234567": bob.send("POST", "/jobs", WISH).get_json()["request"],
        "0" * 64: digest,
        "r1": run_id,
    }

    in_order = [(name, dict(examples)[name]) for name in CLAIMING]

    async def conversation(client: Client) -> None:
        for name, example in [*(it for it in examples if it[0] not in CLAIMING), *in_order]:
            item = items[list(JOB_TOOLS).index(name) if name in JOB_TOOLS else 0]
            if name in CLAIMING:
                item, names["r1"] = free, pages.cardinal.run_of(free).run_id
            fields = {key: names.get(it, it) for key, it in json.loads(example).items()}
            if fields.get("repository") == "shop":
                fields = {**fields, **name_of(pages, item)}
            document(await client.call_tool(name, fields))

    talk(pages, bob, conversation)


@pytest.mark.after(scene=Cardinal.at_work)
def test_resume_answers_a_question_with_words_and_refuses_silence(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")

    async def conversation(client: Client) -> None:
        name = name_of(pages, item)
        assert "is waiting for an answer" in fault(await client.call_tool("resume_job", name))
        document(await client.call_tool("resume_job", {**name, "text": "2"}))

    talk(pages, Program(pages, "bob"), conversation)
    (given,) = pages.cardinal.events(CommandGiven)
    assert (given.by, given.place, given.via, given.command) == ("bob", "api", "ci", "answer")
    assert pages.cardinal.run_of(item).state is RunState.QUEUED


def test_resume_approves_a_plan_without_words_and_sends_it_back_with_them(pages: Pages) -> None:
    item = planned(pages)

    async def conversation(client: Client) -> None:
        name = name_of(pages, item)
        document(await client.call_tool("resume_job", {**name, "text": "Use the old port"}))

    talk(pages, Program(pages, "bob"), conversation)
    assert [it.command for it in pages.cardinal.events(CommandGiven)] == ["redirect"]


def test_a_plan_is_approved_and_a_run_cancelled(pages: Pages) -> None:
    item = planned(pages)

    async def conversation(client: Client) -> None:
        name = name_of(pages, item)
        document(await client.call_tool("resume_job", name))
        document(await client.call_tool("cancel_job", name))

    talk(pages, Program(pages, "bob"), conversation)
    assert [it.command for it in pages.cardinal.events(CommandGiven)] == ["approve", "cancel"]


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_same_request_of_a_session_acts_once_and_another_one_acts_again(pages: Pages) -> None:
    item = at_work(pages)
    client, given = api_client(pages, Program(pages, "bob")), {**name_of(pages, item), "command": "pause"}

    async def send(session: str, request: int) -> bool:
        return bool(document(await tools.call_tool(client, "give_command", given, session, request))["again"])

    async def whole() -> None:
        assert [await send("a", 1), await send("a", 1), await send("b", 1), await send("a", 2)] == [
            False,
            True,
            False,
            False,
        ]

    anyio.run(whole)
    assert len(commands(pages)) == 3
    assert {it.how for it in pages.cardinal.events(RunStopAsked)} == {"pause"}


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_tool_does_what_the_token_may_and_says_why_not(pages: Pages) -> None:
    item = at_work(pages)

    async def conversation(client: Client) -> None:
        refused = fault(await client.call_tool("cancel_job", name_of(pages, item)))
        assert refused == "this needs the scope act; the token has read: create a token with that scope"
        assert "Field required" in fault(await client.call_tool("get_job", {"owner": "acme"}))
        assert "no operation of the API called 'drop'" in fault(await client.call_tool("drop", {}))
        escape = {"owner": "..", "repository": "..", "number": 1}
        assert "owner: invalid value: Owner of the repository" in fault(
            await client.call_tool("get_job", escape)
        )

    talk(pages, Program(pages, "bob", Scope.READ), conversation)
    assert commands(pages) == []
