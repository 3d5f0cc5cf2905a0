"""The web server: deliveries in, slow clients, captures."""
