"""Audit trail of a run, and verification of the event log."""
