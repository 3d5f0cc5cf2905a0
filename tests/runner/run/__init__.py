"""A run's spec, history, limits and instructions."""
