"""The place where an agent works: hidden files, its disk, what is left of it."""
