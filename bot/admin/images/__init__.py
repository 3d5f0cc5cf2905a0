"""Container images built from what the package carries."""
