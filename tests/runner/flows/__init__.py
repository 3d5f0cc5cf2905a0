"""Whole runs through the supervisor: their story, kills, failures, limits, stops."""
