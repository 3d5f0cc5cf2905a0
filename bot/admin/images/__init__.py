"""Container images built from files of the package."""
