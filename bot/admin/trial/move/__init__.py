"""Move of a `cardinal try` board to GitHub: its cards, the destination, the missing parts."""
