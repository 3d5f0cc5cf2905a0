"""Texts of the board: card fields and the status update."""
