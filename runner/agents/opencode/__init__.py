"""The agent opencode: its adapter."""
