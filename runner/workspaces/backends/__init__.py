"""The workspace backends, a file each."""
