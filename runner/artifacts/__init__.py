"""Artifacts of a run: collected, bounded, stored by digest."""
