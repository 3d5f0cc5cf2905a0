"""Web server: webhooks received and stored, pages for people."""
