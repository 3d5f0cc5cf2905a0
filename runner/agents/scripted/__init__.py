"""The agent of the demo and the tests: it plays a scenario."""
