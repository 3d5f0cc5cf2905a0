"""Git on the host, with bounds: mirror, checkouts, commits, trees."""
