"""Cardinal's pages with a public address, as for the tests of pages."""

from tests.bot.web.pages.conftest import pages

__all__ = ["pages"]
