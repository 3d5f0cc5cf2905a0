"""The server for one client of the API: its tools, resources and prompts."""

import secrets
from importlib.resources import files
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from bot.system import release
from bot.web.api.client import ApiClient, connect_api
from bot.web.mcp import resources, tools
from bot.web.mcp.last_answers import serve_to_the_last_answer
from bot.web.mcp.subscriptions import Subscriptions
from rules.policy.markdown.skill import parse

Context = ServerRequestContext[Any, Any]
INSTRUCTIONS = (
    "Jobs are cards on a board; Cardinal's agents do them, and people approve. `why` says why a job "
    "moves or what it is waiting for, `offers` which commands you can give now. A refusal gives its "
    "reason."
)
ABOUT = "Split a goal into jobs, let Cardinal's agents do them, and report: decompose, do not execute"
GOAL = PromptArgument(name="goal", description="The result to reach", required=True)
SKILL = "plugin/skills/orchestrate/SKILL.md"


def make_server(client: ApiClient, session: str, subscriptions: Subscriptions | None = None) -> Server[Any]:
    """Return the server; `session` tells its requests from those of others with the same numbers.

    Without `subscriptions` it sends nothing by itself.
    """
    handlers = _Handlers(client, session)
    return Server(
        "cardinal",
        version=release.version(),
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=subscriptions.subscribe if subscriptions else None,
        on_unsubscribe_resource=subscriptions.unsubscribe if subscriptions else None,
        on_subscriptions_listen=subscriptions.listen if subscriptions else None,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


async def _serve_stdio(url: str, token: str) -> None:
    client = connect_api(url, token)
    subscriptions = Subscriptions(client)
    server = make_server(client, secrets.token_hex(16), subscriptions)
    async with client.http, stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(subscriptions.serve)
        await serve_to_the_last_answer(server, read, write)
        tasks.cancel_scope.cancel()


def serve_stdio(url: str, token: str) -> None:
    """Serve the Cardinal at that address on standard input and output, until the last answer to the input."""
    anyio.run(_serve_stdio, url, token)


class _Handlers:
    """Answers the requests of one client."""

    def __init__(self, client: ApiClient, session: str) -> None:
        self._client, self._session = client, session

    async def list_tools(self, _context: Context, _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools.list_tools())

    async def call_tool(self, context: Context, sent: CallToolRequestParams) -> CallToolResult:
        return await tools.call_tool(
            self._client, sent.name, sent.arguments or {}, self._session, context.request_id
        )

    async def list_resources(
        self, _context: Context, _page: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=[])  # there may be many: list_jobs has them by filter

    async def list_templates(
        self, _context: Context, _page: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(self, _context: Context, sent: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read(self._client, str(sent.uri))

    async def list_prompts(
        self, _context: Context, _page: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name="orchestrate", description=ABOUT, arguments=[GOAL])])

    async def get_prompt(self, _context: Context, sent: GetPromptRequestParams) -> GetPromptResult:
        return fill_prompt(sent.name, (sent.arguments or {}).get("goal", ""))


def fill_prompt(name: str, goal: str) -> GetPromptResult:
    """Return the prompt with its goal. Raises MCPError."""
    if name != "orchestrate" or not goal.strip():
        raise MCPError(INVALID_PARAMS, "the only prompt is `orchestrate`; it takes a `goal`")
    skill = files(__package__).joinpath(SKILL).read_bytes()
    text = f"{parse('orchestrate', skill).text}\n\nThe goal:\n{goal.strip()}"
    content = TextContent(type="text", text=text)
    return GetPromptResult(description=ABOUT, messages=[PromptMessage(role="user", content=content)])
