"""A Cardinal in this process, against a forge of its own."""

from tests.bot.flows.conftest import cardinal

__all__ = ["cardinal"]
