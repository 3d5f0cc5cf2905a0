"""Pages of cards that follow the log: a stream says that there is news, and the page loads itself anew."""

import hashlib
from collections.abc import Sequence

from flask import Response, make_response, render_template

from bot.web.live import assets
from bot.web.live.response import PageUpdate, StreamResponse, message, seen
from bot.web.site.layout import HEADERS, Site
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import card_news
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn

PAUSE_S = 3.0  # between two looks at least: a page is made anew for each news


def page(template: str, live: str, after: int, **values: object) -> Response:
    """Return a page that shows what was there at the event `after`, and follows the stream at `live`."""
    nonce = assets.nonce()
    answer = make_response(render_template(template, live=live, after=after, nonce=nonce, **values))
    answer.headers["Content-Security-Policy"] = assets.policy(HEADERS, nonce)
    return answer


def stream(
    site: Site, visit: SignIn, scopes: Sequence[CardScope], card_id: CardId | None = None
) -> StreamResponse:
    """Return the stream that says when something happened to these cards; of `card_id` alone, if given."""
    sight = sorted((it.board_id, sorted(it.seen or ()), it.seen is None, it.drafts) for it in scopes)
    about = hashlib.sha256(repr((sight, card_id)).encode()).hexdigest()

    def pull(after: int) -> PageUpdate:
        with event_store.reading(site.engine) as db:
            last, is_news = card_news.later(db, scopes, after, card_id)
        sent = message("news", "news", last) if is_news else b"id: %d\n\n" % last
        return PageUpdate(sent if last > after else b"", b"", last)

    return StreamResponse(about, visit.user_id, seen(), pull, of_all=True, pause_s=PAUSE_S, reloads=True)
