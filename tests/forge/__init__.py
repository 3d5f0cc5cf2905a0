"""The forge's tests: what it does as GitHub does."""
