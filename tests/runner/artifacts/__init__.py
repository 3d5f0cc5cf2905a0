"""Files that a run leaves for people."""
