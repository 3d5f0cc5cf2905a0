"""What a run is given, how it waits, and what people see of it."""
