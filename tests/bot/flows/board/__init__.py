"""Cards, columns and repositories: seen, moved, lost and regained."""
