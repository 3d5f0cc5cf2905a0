"""The backend without containers."""
