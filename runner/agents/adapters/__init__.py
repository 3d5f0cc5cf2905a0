"""The agents, a file each."""
