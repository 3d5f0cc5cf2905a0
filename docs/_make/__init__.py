"""Makes what is generated in the documentation; run by `scripts/docs`."""
