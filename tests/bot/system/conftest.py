"""A private key, made once."""

from tests.bot.github.conftest import private_key

__all__ = ["private_key"]
