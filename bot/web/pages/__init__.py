"""The pages for people with a browser: one file each in this folder, found by its name."""

from functools import partial
from threading import BoundedSemaphore
from typing import Protocol

from flask import Blueprint
from sqlalchemy import Engine

from bot.bootstrap import services_over
from bot.github import person_access
from bot.github.client import Hub
from bot.state import served_boards
from bot.system.clock import Clock
from bot.system.config import Config
from bot.web.authorization import Readers, RequestLimiter
from bot.web.site.layout import Site
from ledger.parts import Registry

READ_S = 5.0  # timeout of GitHub's answers: deliveries need the web server's threads, too
SIGN_INS_AT_ONCE, SIGN_INS_A_MINUTE, SIGN_INS_AN_HOUR = 2, 30, 600


class WebPage(Protocol):
    """A file of this folder: one page, or several that belong together."""

    def mount(self, site: Site) -> None:
        """Add the page's addresses to the site. Who may see a page, it asks itself: see `site.get`."""


PAGES = Registry[WebPage]("web page", __name__, WebPage)


def pages(config: Config, engine: Engine, clock: Clock) -> Blueprint:
    """Return the blueprint with every page mounted."""
    hub = Hub(config, clock, read_s=READ_S)
    services = services_over(config, engine, hub, clock)
    hub_of = partial(served_boards.hub_of, engine, config, hub)
    readers = Readers(hub_of, clock, partial(person_access.of_person, config.github_url))
    sign_ins = RequestLimiter(clock, each=SIGN_INS_A_MINUTE, of_all=SIGN_INS_AN_HOUR, shared=False)
    site = Site(
        config=config,
        engine=engine,
        clock=clock,
        readers=readers,
        sign_ins=sign_ins,
        at_github=BoundedSemaphore(SIGN_INS_AT_ONCE),
        services=services,
    )
    for _, page in PAGES.all():
        page.mount(site)
    return site.blueprint
