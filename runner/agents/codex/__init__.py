"""The agent Codex: adapter, dialogue, settings."""
