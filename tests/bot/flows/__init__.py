"""Cardinal in one process against a real forge, through all its rooms."""
