"""Pull requests: the gate, CI, reviews, merges, forks."""
