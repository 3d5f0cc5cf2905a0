"""The program and the packaged scenarios of the agent of the demo and the tests."""
