"""Intents: acts on GitHub, and requests that become events."""
