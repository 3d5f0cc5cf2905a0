"""Tests of a person's clone and its hooks."""
