"""The MCP server: the API's operations as tools, jobs and runs as resources; it acts by the API alone."""
