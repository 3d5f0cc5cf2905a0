"""GitHub as Cardinal uses it: one door for all calls, typed reads, and the outward acts."""
