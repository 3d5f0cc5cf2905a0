"""Repositories on disk: git called, diffs, merges, and the rules of rulesets."""
