"""Many cards at once, and what must not be left of them: real processes, real containers, one forge."""
