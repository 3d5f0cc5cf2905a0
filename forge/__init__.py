"""A small stateful GitHub on this machine, for the demonstration and the tests."""
