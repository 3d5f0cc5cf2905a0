"""Pages that stay as they would be if they were loaded now: templates, their script, and open streams."""
