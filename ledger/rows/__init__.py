"""Rows of the views as frozen classes: rules, runner and bot read them as they are. No SQL here."""
