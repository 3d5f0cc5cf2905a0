"""Outbox entries carried out on GitHub: one idempotent handler per act, paced and retried."""
