"""Gateway control: its lifecycle, access, and messages to the supervisor."""
