"""Ledger reads shared by several steps: policy in force, budgets, card snapshots."""
