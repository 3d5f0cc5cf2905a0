"""The tool servers of one claim: their offers to the agent, and its calls to them, each with limits."""

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.gateway.control.messages import ServerCallMade, ServerTrouble
from runner.gateway.control.uplink import Order, Uplink
from runner.gateway.servers import offer
from runner.gateway.servers.stdio import REVISION, StdioClient, ToolServerError
from runner.gateway.servers.terms import ToolServerTerms
from runner.text.plain import one_line, redact

START_S = 15.0  # from its start to its list of tools
MAX_CALLS, MAX_AT_ONCE, MAX_TOOLS = 200, 4, 500
_SLACK_S = 1.0
_PAGES = 10
_SAID_BYTES = 300
_CANNOT = "it is not there in this run: go on without it"


@dataclass(slots=True)
class _Server:
    """A tool server; `tools` has its list once `ready` is done, and nothing once it is let go."""

    terms: ToolServerTerms
    client: StdioClient
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    ready: asyncio.Task[None] | None = None
    is_gone: bool = False


class ToolServers:
    """Begins the servers that the supervisor hands over, and answers for them."""

    def __init__(
        self,
        uplink: Uplink,
        terms: tuple[ToolServerTerms, ...],
        call_s: float = 60.0,
        start_s: float = START_S,
        earlier: int = 0,
    ) -> None:
        """`earlier` counts the calls of the run's earlier claims."""
        self._uplink, self._call_s, self._start_s = uplink, call_s, start_s
        self._terms = {each.name: each for each in terms}
        self._servers: dict[str, _Server] = {}
        self._calls, self._at_once = earlier, 0

    def handle_order(self, order: Order) -> None:
        """Take over a server that has just been started: its wire, and its standard error."""
        if order["type"] != "attach":
            return
        wire, errors = (socket.socket(fileno=number) for number in order["descriptors"])
        server = _Server(self._terms[order["server"]], StdioClient(wire, errors))
        server.ready = asyncio.create_task(self._begin(server))
        self._servers[order["server"]] = server

    def close(self) -> None:
        """Let go of all servers."""
        for server in self._servers.values():
            server.client.close("the run is over")

    async def tools(self) -> list[dict[str, Any]]:
        """Return name, description and schema of the tools of this turn, as their servers list them."""
        starting = [server.ready for server in self._servers.values() if server.ready]
        if starting:
            await asyncio.wait(starting, timeout=self._start_s + _SLACK_S)
        listed = []
        for name in self._uplink.tools:
            server, _, tool = name.partition("__")
            known = self._servers[server].tools.get(tool) if server in self._servers else None
            listed += [] if known is None else [{**known, "name": name}]
        return listed

    async def call(self, name: str, given: Mapping[str, Any]) -> tuple[bool, str]:
        """Return whether a call of a granted tool went well, and the text for the agent."""
        server, _, tool = name.partition("__")
        if self._calls >= MAX_CALLS:
            return False, self._refused(server, tool, f"more than {MAX_CALLS} calls of tool servers in a run")
        if self._at_once >= MAX_AT_ONCE:
            return False, f"more than {MAX_AT_ONCE} calls of tool servers at once: wait for an answer"
        self._calls, self._at_once = self._calls + 1, self._at_once + 1
        began = time.monotonic()
        try:
            outcome, text = await self._ask(self._servers.get(server), tool, given)
        finally:
            self._at_once -= 1
        sizes = len(json.dumps(dict(given))), len(text.encode())
        took_ms = int((time.monotonic() - began) * 1000)
        self._uplink.say(ServerCallMade(server, tool, took_ms, *sizes, outcome))
        return outcome == "ok", text

    async def _ask(self, server: _Server | None, tool: str, given: Mapping[str, Any]) -> tuple[str, str]:
        if server is None or tool not in server.tools:
            return "gone", _CANNOT
        try:
            request = {"name": tool, "arguments": dict(given)}
            result = await server.client.ask("tools/call", request, self._call_s)
        except ToolServerError as error:
            if error.outcome == "gone":
                self._trouble(server, str(error))
            return error.outcome, offer.tool_result_text(
                server.terms.name, _text(str(error)), server.terms.hidden
            )
        text = offer.tool_result_text(server.terms.name, result, server.terms.hidden)
        return ("error" if result.get("isError") else "ok"), text

    async def _begin(self, server: _Server) -> None:
        """Shake hands and read the list of tools; a server that does not manage to is let go."""
        try:
            async with asyncio.timeout(self._start_s):
                await server.client.open()
                who = {"name": "cardinal", "version": "1"}
                opening = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": who}
                await server.client.ask("initialize", opening, self._start_s)
                await server.client.tell({"method": "notifications/initialized"})
                await self._list(server)
        except TimeoutError:
            self._trouble(server, f"it did not list its tools within {self._start_s:.0f} s")
        except (ToolServerError, OSError) as error:
            self._trouble(server, str(error))

    async def _list(self, server: _Server) -> None:
        named: list[Any] = []
        page: dict[str, Any] = {}
        for _ in range(_PAGES):
            result = await server.client.ask("tools/list", page, self._start_s)
            tools = result.get("tools")
            named += tools if isinstance(tools, list) else []
            if not isinstance(result.get("nextCursor"), str) or len(named) > MAX_TOOLS:
                break
            page = {"cursor": result["nextCursor"]}
        by_name = {tool.get("name"): tool for tool in named[:MAX_TOOLS] if isinstance(tool, dict)}
        for wanted in server.terms.tools:
            problem = self._take(server, wanted, by_name.get(wanted))
            if problem:
                self._uplink.say(ServerTrouble(server.terms.name, problem, ended=False))

    def _take(self, server: _Server, name: str, tool: Mapping[str, Any] | None) -> str:
        if tool is None:
            return f"it has no tool {name}: correct `tools` in the policy"
        problem = offer.schema_problem(tool.get("inputSchema"))
        if problem:
            return f"the schema of its tool {name} {problem}: the tool is left out"
        about = offer.description(server.terms.name, tool.get("description"))
        server.tools[name] = {"description": about, "inputSchema": offer.plain_schema(tool["inputSchema"])}
        return ""

    def _trouble(self, server: _Server, why: str) -> None:
        """Let a server go, and report why once."""
        server.client.close(why)
        if not server.is_gone:
            server.tools, server.is_gone = {}, True
            wrote = one_line(redact(server.client.said, server.terms.hidden), _SAID_BYTES)
            detail = f"{one_line(why)}; it wrote: {wrote}" if wrote else one_line(why)
            self._uplink.say(ServerTrouble(server.terms.name, detail, ended=True))

    def _refused(self, server: str, tool: str, why: str) -> str:
        if self._calls == MAX_CALLS:  # reported once
            self._calls += 1
            self._uplink.say(ServerCallMade(server, tool, 0, 0, 0, "refused"))
            self._uplink.say(ServerTrouble(server, why, ended=False))
        return f"{why}: go on without them"


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
