"""Open lists of cards: each says once that it is old, when a card changed that its reader may see."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flask import Response, request
from sqlalchemy import Engine

from bot.web.live import assets
from bot.web.live.response import ANY_CARD, PageUpdate, StreamResponse, message
from ledger.log import event_store
from ledger.queries import card_changes
from ledger.queries.card_filter import CardScope


@dataclass(frozen=True, slots=True)
class LiveList:
    """A list as its page holds it: the address of its stream, and the last event that it shows."""

    path: str
    after: int
    nonce: str = field(default_factory=assets.nonce)

    def allow(self, answer: Response, headers: Mapping[str, str]) -> Response:
        """Let the script of the page run."""
        answer.headers["Content-Security-Policy"] = assets.policy(headers, self.nonce)
        return answer


def stream(engine: Engine, person: int, scopes: Sequence[CardScope]) -> StreamResponse:
    """Return the stream of a list with the cards in these scopes; readers who see the same share it."""

    def later(after: int) -> PageUpdate:
        with event_store.reading(engine) as db:
            found = card_changes.after(db, scopes, after)
        shown = message("changed", "changed", found.last) if found.seen else b""
        return PageUpdate(b"", shown, found.last, more=found.more and not found.seen, ended=found.seen)

    seen = sorted((scope.board_id, sorted(scope.seen or ()), scope.drafts) for scope in scopes)
    about = ANY_CARD + hashlib.sha256(repr(seen).encode()).hexdigest()
    return StreamResponse(about, person, seen_by_page(), later)


def seen_by_page() -> int:
    """Return the last event that the page has; a browser that comes back names it in a header."""
    named = request.headers.get("Last-Event-ID") or request.args.get("after", "")
    return int(named) if assets.AFTER.fullmatch(named) else 0
