"""What each family of events asks for."""
