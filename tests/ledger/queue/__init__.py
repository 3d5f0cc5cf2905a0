"""What waits to be worked on, and who works on it."""
