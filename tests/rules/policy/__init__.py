"""The files that people write: policy, persona, profile, skill."""
