"""Tool servers of a repository: spoken to by MCP, bounded, and never believed."""
