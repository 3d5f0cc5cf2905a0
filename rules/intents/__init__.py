"""Intents: acts on GitHub, internal events, stops."""
