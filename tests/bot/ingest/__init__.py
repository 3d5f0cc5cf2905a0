"""What each GitHub event says."""
