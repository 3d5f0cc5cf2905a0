"""Column archetypes, one file each: entering, the state at rest, the headline; found by file name."""
