"""Queues, ready runs, leases."""
