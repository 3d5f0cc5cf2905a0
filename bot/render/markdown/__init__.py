"""Markdown building blocks: escaping, links, checkboxes, the hidden marker."""
