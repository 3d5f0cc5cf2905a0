"""Rows that views fold, and what is read from them."""
