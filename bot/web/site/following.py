"""Pages that follow the log: a list is sent anew to all who see the same; a card's page loads itself anew."""

import hashlib
from collections.abc import Callable, Sequence

from flask import Response, make_response, render_template, request
from sqlalchemy import Connection

from bot.web.live.response import PageUpdate, StreamResponse, last_seen_event, message
from bot.web.site.layout import Site
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import card_news
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn

PAUSE_S = 3.0  # between two looks at least: a page or a list is made anew for each news
ListHtml = Callable[[str], str]  # by the login of its reader


def page(template: str, live: str, after: int, **values: object) -> Response:
    """Return a page with the state at the event `after`, which follows the stream at `live`."""
    query = request.query_string.decode("latin-1")
    live += f"?{query}" if query else ""
    return make_response(render_template(template, live=live, after=after, **values))


def card_stream(site: Site, visit: SignIn, scope: CardScope, card_id: CardId) -> StreamResponse:
    """Return the stream that says when something happened to the card."""

    def pull(after: int) -> PageUpdate:
        with event_store.reading(site.engine) as db:
            last, is_news = card_news.later(db, [scope], after, card_id)
        sent = message("news", "news", last) if is_news else b"id: %d\n\n" % last
        return PageUpdate(sent if last > after else b"", b"", last)

    about = _about([scope], card_id)
    return StreamResponse(
        about, visit.user_id, last_seen_event(), pull, of_all=True, pause_s=PAUSE_S, reloads=True
    )


def list_stream(
    site: Site,
    visit: SignIn,
    scopes: Sequence[CardScope],
    shown: object,
    make: Callable[[Connection], ListHtml],
) -> StreamResponse:
    """Return the stream with the list as it is after something happened to these cards.

    All who see the same share the result of `make`: by their sight, and by `shown`, which says all else.
    """

    def pull(after: int) -> PageUpdate:
        with event_store.reading(site.engine) as db:
            last, is_news = card_news.later(db, scopes, after)
            html = make(db) if is_news or not after else None
        place = b"id: %d\n\n" % last if last > after else b""
        return PageUpdate(place, (lambda login: message("list", html(login))) if html else b"", last)

    return StreamResponse(
        _about(scopes, shown), visit.user_id, last_seen_event(), pull,
        of_all=True, pause_s=PAUSE_S, standing=True, login=visit.login,
    )  # fmt: skip


def _about(scopes: Sequence[CardScope], shown: object) -> str:
    sight = sorted((it.board_id, sorted(it.seen or ()), it.seen is None, it.drafts) for it in scopes)
    return hashlib.sha256(repr((sight, shown)).encode()).hexdigest()
