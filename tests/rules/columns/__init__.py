"""One table of cases for each archetype of a column."""
