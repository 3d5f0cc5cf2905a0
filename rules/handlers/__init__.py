"""Event handlers: one module per kind of event."""
