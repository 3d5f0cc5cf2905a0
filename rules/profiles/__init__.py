"""Built-in profiles of repositories, one file each; found by file name."""
