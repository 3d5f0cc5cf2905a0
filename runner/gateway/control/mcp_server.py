"""The tools of board and tool servers as an MCP server: those of an open turn, and their calls."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.agents.board_tools import TOOLS, call_id_of, description_of, schema_of
from runner.gateway.control.asgi import replay_strict_json
from runner.gateway.control.messages import BoardListed, CallRefusal
from runner.gateway.control.uplink import Uplink
from runner.gateway.models.limits import RateLimiter
from runner.gateway.servers.tool_servers import ToolServers

CALLS_PER_MINUTE = 60
REQUEST_BYTES = 256 * 1024
INPUT_BYTES = 40_000  # as JSON: a call travels in one datagram
ANSWER_S = 60.0
_NAME = "board"
# Claude Code (measured: 2.1.330) shows a model only tools with this mark, and the others after a search.
_ALWAYS_LOADED = {"anthropic/alwaysLoad": True}


def board_app(
    uplink: Uplink, servers: ToolServers | None = None, *, clock: Callable[[], float] = time.monotonic
) -> ASGIApp:
    """Return the server as an ASGI application for any path.

    It stores only the counts of equal calls, so it needs no lifespan, and an agent may reconnect. It sends
    nothing by itself: only POST is served.
    """
    servers = servers or ToolServers(uplink, ())
    tools = _Tools(uplink, servers, RateLimiter(CALLS_PER_MINUTE, clock), RateLimiter(1, clock))
    server = Server(
        _NAME,
        version="1",
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        again = await replay_strict_json(receive, send, REQUEST_BYTES)
        if again is None:
            return
        sessions = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=REQUEST_BYTES
        )
        async with sessions.run():
            await sessions.handle_request(scope, again, send)

    return serve


class _Tools:
    """Handles the calls of one run's agent."""

    def __init__(
        self, uplink: Uplink, servers: ToolServers, pace: RateLimiter, refusal_pace: RateLimiter
    ) -> None:
        self._uplink, self._servers = uplink, servers
        self._pace, self._refusal_pace = pace, refusal_pace
        self._seen: Counter[str] = Counter()
        self._listed = ""  # the turn in which this was last asked for

    async def list_tools(self, _context: object, _page: PaginatedRequestParams | None) -> ListToolsResult:
        """Return the tools of the turn, of the board and of tool servers; none when no turn is open."""
        if self._uplink.is_open and self._uplink.turn != self._listed:
            self._listed = self._uplink.turn
            self._uplink.say(BoardListed())
        own = [_describe_tool(name, self._uplink.withheld) for name in self._uplink.tools if name in TOOLS]
        return ListToolsResult(tools=[*own, *map(_load_always, await self._servers.tools())])

    async def call_tool(self, _context: object, request: CallToolRequestParams) -> CallToolResult:
        """Return the supervisor's answer to a call, or why it was refused."""
        given = request.arguments or {}
        problem = self._problem(request.name, given)
        if problem:
            return _answer({"error": problem})
        if request.name not in TOOLS:
            done, text = await self._servers.call(request.name, given)
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=not done)
        call_id = self._call_id(request.name, given)
        message = {"type": "call", "id": call_id, "tool": request.name, "input": given}
        return _answer(await self._uplink.ask(call_id, message, limit_s=ANSWER_S))

    def _problem(self, tool: str, given: Mapping[str, Any]) -> str:
        if not self._uplink.is_open:
            return "no turn is open: the board answers only a working agent"
        if tool not in self._uplink.tools:
            return f"there is no such tool in this turn; there are {', '.join(self._uplink.tools) or 'none'}"
        try:
            size = len(json.dumps(given, allow_nan=False))
        except ValueError:
            return "NaN and Infinity are no numbers in JSON"
        if size > INPUT_BYTES:
            return f"the input is {size} bytes of JSON, more than {INPUT_BYTES}: say it shorter"
        if not self._pace.allows():
            if self._refusal_pace.allows():
                self._uplink.say(CallRefusal("rate", f"more than {CALLS_PER_MINUTE} board calls in a minute"))
            return f"more than {CALLS_PER_MINUTE} calls in a minute: go on with the work, call less often"
        return ""

    def _call_id(self, tool: str, given: Mapping[str, Any]) -> str:
        first = call_id_of(self._uplink.turn, tool, given, 1)
        self._seen[first] += 1
        return call_id_of(self._uplink.turn, tool, given, self._seen[first])


def _describe_tool(name: str, withheld: tuple[str, ...]) -> Tool:
    return Tool.model_validate(
        {
            "name": name,
            "description": description_of(name),
            "inputSchema": schema_of(name, withheld),
            "_meta": _ALWAYS_LOADED,
        }
    )


def _load_always(tool: Mapping[str, Any]) -> Tool:
    return Tool.model_validate({**tool, "_meta": _ALWAYS_LOADED})


def _answer(result: Mapping[str, object]) -> CallToolResult:
    problem = result.get("error")
    text = str(problem) if problem else json.dumps(result, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=bool(problem))
