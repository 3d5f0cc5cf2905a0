"""Acting from pages: the forms that a page offers, and the outcome of a sent one."""
