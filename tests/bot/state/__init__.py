"""Budgets that runs share."""
