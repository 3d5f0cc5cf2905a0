"""Floor 2: the edges. Webhooks in, GitHub out, the command line; the only composition root."""
