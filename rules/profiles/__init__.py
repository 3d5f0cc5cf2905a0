"""Built-in profiles of repositories, one file each: how people of that kind of repository work."""
