"""Which runs start, how, with how much, and what stops them."""
