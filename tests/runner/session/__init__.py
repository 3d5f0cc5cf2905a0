"""One agent at work: what it says, asks, calls and attaches."""
