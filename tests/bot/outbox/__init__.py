"""Acts carried out against a real forge."""
