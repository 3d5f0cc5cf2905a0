"""Markdown files with front matter: personas and skills."""
