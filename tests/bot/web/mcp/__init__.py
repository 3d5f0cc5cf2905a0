"""Tests of the MCP server, with clients that others wrote."""
