"""State of a run: specification, instructions, context, limits, history from its log."""
