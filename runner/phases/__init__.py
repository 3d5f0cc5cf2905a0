"""Phases of a run: prepare, stages, work, validate, guard, publish."""
