"""Programs that run inside a container or sandbox; they import nothing of Cardinal."""
