"""Traces of runs: made from the log once a run has ended, and sent to the operator's collector."""
