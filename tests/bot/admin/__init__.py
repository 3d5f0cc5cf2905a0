"""The doctor, the audit and the set-up."""
