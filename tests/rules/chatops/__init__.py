"""Commands in comments: how they are read, and those that come late."""
