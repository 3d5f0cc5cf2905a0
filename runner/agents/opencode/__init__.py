"""The programs of the agent opencode in its container."""
