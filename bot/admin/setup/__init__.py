"""Sets Cardinal up on GitHub, step by step; every step can be interrupted and begun again."""
