"""One table of cases for each action of a policy."""
