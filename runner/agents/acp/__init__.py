"""Agents that speak the Agent Client Protocol: one dialogue for all, and each program as data."""
