"""The forms of pages."""
