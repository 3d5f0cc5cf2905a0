"""Actions of `on_entry` and `on_exit`, one file each: settings, plan, headline; found by file name."""
