"""The API for programs, beside the pages."""

from bot.web.api import door
from bot.web.site.layout import Site


def mount(site: Site) -> None:
    """Mount the API."""
    door.mount(site)
