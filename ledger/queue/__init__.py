"""Queues: deliveries, refresh requests, outbox entries, leases, sign-ins, change reports."""
