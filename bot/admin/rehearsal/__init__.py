"""Rehearsal: Cardinal's beliefs about GitHub, compared one by one with true answers and deliveries."""
