"""Settings, logs, Redis, and what is kept away from the rest."""
