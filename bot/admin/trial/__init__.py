"""A board of `cardinal try` in a clone: what it is made of, its checks and agents, and how it moves away."""
