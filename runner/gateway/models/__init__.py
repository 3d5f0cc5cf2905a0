"""Model calls: estimated, reserved, forwarded, metered."""
