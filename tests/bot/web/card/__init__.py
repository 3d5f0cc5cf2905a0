"""A card as its page shows it."""
