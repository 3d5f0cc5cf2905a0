"""Text that goes to a model."""
