"""The tools of the MCP server."""

import json

from bot.web.api.operation import OPERATIONS
from bot.web.mcp import tools as mcp_tools
from docs._make import wording


def tools() -> str:
    """Return the table of all tools; fields in brackets may be left out."""
    rows = []
    for tool in mcp_tools.list_tools():
        required = set(tool.input_schema.get("required", ()))
        fields = (it if it in required else f"[{it}]" for it in tool.input_schema.get("properties", {}))
        acts = "" if tool.annotations and tool.annotations.read_only_hint else "yes"
        part = mcp_tools.JOB_TOOLS.get(tool.name) or OPERATIONS.load(tool.name)
        example = f"`{json.dumps(part.EXAMPLE)}`"
        rows.append((f"`{tool.name}`", str(tool.description), ", ".join(fields), acts, example))
    return wording.table(("tool", "what it does", "takes", "acts", "arguments, for example"), rows)
