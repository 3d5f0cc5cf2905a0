"""Prompts: briefing, stages, reproduction."""
