"""The tools of the MCP server."""

from bot.web.mcp import tools as mcp_tools
from docs._make import wording


def tools() -> str:
    """Return the table of all tools; fields in brackets may be left out."""
    rows = []
    for tool in mcp_tools.listed_tools():
        required = set(tool.input_schema.get("required", ()))
        fields = (it if it in required else f"[{it}]" for it in tool.input_schema.get("properties", {}))
        acts = "" if tool.annotations and tool.annotations.read_only_hint else "yes"
        rows.append((f"`{tool.name}`", str(tool.description), ", ".join(fields), acts))
    return wording.table(("tool", "what it does", "takes", "acts"), rows)
