"""The texts that people read on GitHub."""
