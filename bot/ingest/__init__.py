"""Deliveries become events: payloads parsed, comments read, missing facts fetched."""
