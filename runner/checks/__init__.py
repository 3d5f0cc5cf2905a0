"""Repository checks on a clean checkout, and the reading of their failures."""
