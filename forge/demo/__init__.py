"""The demo: a seeded forge, Cardinal beside it, and a small team that plays the whole story on the board."""
