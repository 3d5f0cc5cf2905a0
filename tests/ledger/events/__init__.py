"""What event kinds say for people."""
