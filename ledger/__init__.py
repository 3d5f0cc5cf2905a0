"""Floor 0: events and views. The only place with SQL; it uses no other package."""
