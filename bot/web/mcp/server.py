"""The server for one client of the API: its tools, resources and prompts."""

import secrets
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from bot.system import release
from bot.web.api.client import ApiClient, connect_api
from bot.web.mcp import prompts, resources, tools
from bot.web.mcp.subscriptions import Subscriptions

Context = ServerRequestContext[Any, Any]
INSTRUCTIONS = (
    "Jobs are cards of a board; Cardinal's agents do them, and people approve. `why` says why a job does or"
    " does not move, `offers` the commands to give for it now. A refusal says its reason."
)


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
        await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def serve_stdio(url: str, token: str) -> None:
    """Serve the Cardinal at that address on standard input and output, until the input ends."""
    anyio.run(_serve_stdio, url, token)


class _Handlers:
    """Answers the requests of one client."""

    def __init__(self, client: ApiClient, session: str) -> None:
        self._client, self._session = client, session

    async def list_tools(self, _context: Context, _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools.listed_tools())

    async def call_tool(self, context: Context, sent: CallToolRequestParams) -> CallToolResult:
        return await tools.called(
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
        return ListPromptsResult(prompts=prompts.listed_prompts())

    async def get_prompt(self, _context: Context, sent: GetPromptRequestParams) -> GetPromptResult:
        return prompts.filled(sent.name, (sent.arguments or {}).get("goal", ""))
