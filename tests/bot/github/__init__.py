"""The door to GitHub."""
