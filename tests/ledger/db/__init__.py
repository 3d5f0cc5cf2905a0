"""Rows of views in SQL."""
