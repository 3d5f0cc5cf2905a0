"""git on the host and in a workspace."""
