"""A rehearsal on the forge."""
