"""The pages that people open in a browser."""
