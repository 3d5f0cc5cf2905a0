"""Actions of `on_entry` and `on_exit`, one file each; found by file name."""
