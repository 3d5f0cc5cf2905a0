"""Looks at a draft, or at the issue in its place, while an entry puts the one where the other was."""

from collections.abc import Mapping

from sqlalchemy import Connection, Engine

from bot.github.api.project_models import CardLook
from bot.render.markdown.marker import OF_DRAFT, draft_of
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.queue import outbox
from ledger.views import cards, remotes


def find_unsettled(engine: Engine, looks: Mapping[CardId, CardLook | None]) -> frozenset[CardId]:
    """Return the cards whose looks tell nothing: the entry that replaces the draft records its own acts.

    Those are the draft once it is away, the issue's card before the ledger knows it, and a draft that GitHub
    still shows, or showed before, though its issue has its place.
    """
    with event_store.reading(engine) as db:
        return frozenset(card_id for card_id, seen in looks.items() if _is_unsettled(db, card_id, seen))


def _is_unsettled(db: Connection, card_id: CardId, seen: CardLook | None) -> bool:
    known = cards.get(db, card_id)
    if seen is None:
        return known is not None and known.number is None and _is_open(db, card_id)
    if known is not None:
        return False
    if seen.kind == "DraftIssue":
        done = remotes.get(db, EntryKey(f"{OF_DRAFT}{card_id}"))
        return done is not None and bool(done.remote_id)
    draft = draft_of(seen.body)
    return bool(draft) and _is_open(db, CardId(draft))


def _is_open(db: Connection, draft: CardId) -> bool:
    return any(entry.key == f"{OF_DRAFT}{draft}" for entry in outbox.open_of_card(db, draft))
