"""Operator tools: audit trail, doctor, set-up, support bundle; people's clones."""
