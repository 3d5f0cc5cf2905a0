"""Artifacts of a run: collected, bounded, stored by digest in a folder or bucket."""
