"""A board of `cardinal try` carried over to GitHub: what it has, what is there, what is missing."""
