"""The pages of the forge, for people with a browser."""

from flask import Blueprint

from forge.pages import apps, authorizing, board, cards, code, conversation, home, pulls, reviewing, switches
from forge.pages.site import Site
from forge.store import Store


def pages(store: Store) -> Blueprint:
    """Return the blueprint with every page; it answers on loopback names only."""
    site = Site(store)
    for part in (home, switches, apps, authorizing, board, cards, conversation, pulls, reviewing, code):
        part.mount(site)
    return site.blueprint
