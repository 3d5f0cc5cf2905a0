"""Untrusted text: rendered as people see it, redacted, delimited, truncated."""
