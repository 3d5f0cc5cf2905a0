"""The agent Claude Code: adapter, dialogue, settings."""
