"""GitHub client: tokens, rate limit, transport, typed API calls."""
