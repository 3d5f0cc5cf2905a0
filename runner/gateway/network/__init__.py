"""Network proxy: hosts allowed by name and address."""
