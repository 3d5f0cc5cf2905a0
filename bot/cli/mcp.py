"""`cardinal mcp`: a board for an agent that speaks MCP."""

import click

from bot.cli._operations import api_address


@click.command("mcp")
def command() -> None:
    """Serve the API as an MCP server, on standard input and output.

    For agents that start it themselves. It uses CARDINAL_URL with CARDINAL_TOKEN, within that token's rights.

    \b
    Example:
      claude mcp add cardinal -- cardinal mcp
    """
    url, token = api_address()
    from bot.web.mcp import server

    server.serve_stdio(url, token)
