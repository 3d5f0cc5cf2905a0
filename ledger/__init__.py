"""Floor 0: what happened. The only place with SQL; it uses no other package."""
