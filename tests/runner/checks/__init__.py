"""The gate, the repairs that it asks for, and steps in a browser."""
