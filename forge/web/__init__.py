"""The web server: its start and stop, who calls, the control of tests, and the sender of webhooks."""
