"""Column archetypes, one file each; found by file name."""
