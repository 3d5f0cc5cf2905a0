"""Branch of a card: commits rewritten, rebased, exported."""
