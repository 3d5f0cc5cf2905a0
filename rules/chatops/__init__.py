"""Comment commands: parser and replies."""
