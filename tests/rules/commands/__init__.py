"""One table of cases for each slash command."""
