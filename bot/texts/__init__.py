"""What people read on GitHub: pure functions from ledger rows to Markdown."""
