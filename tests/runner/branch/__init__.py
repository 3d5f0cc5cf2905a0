"""The branch that leaves: rewritten, rebased, with what people pushed."""
