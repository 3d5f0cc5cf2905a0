"""Rules about events; each says which."""
