"""A card as its page shows it: what is decided now, the work, the story, and what failed."""
