"""Open pages: what comes to them, in which bounds, and what of it a browser could take for something else."""
