"""A card's state, repository, dependencies and moves."""
