"""Texts of a run: comment, report, evidence, findings, story."""
