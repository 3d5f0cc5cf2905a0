"""The figures of `scripts/bench`: measured on real processes, never collected as tests."""
