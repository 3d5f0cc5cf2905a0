"""Acting from pages: the forms that a page offers, and what became of the one that somebody sent."""
