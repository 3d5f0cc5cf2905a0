"""People's own words in a card's description, where a rule's model wrote over them."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api.project_models import CardLook
from bot.render.markdown.marker import marker_of, words_of_draft
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.views import cards, expansions

Looks = Mapping[CardId, CardLook | None]


def with_own_words(services: Services, looks: Looks) -> Looks:
    """Return the looks with the descriptions that people wrote.

    A model's words carry nobody's rights: they neither choose a repository nor steer an agent. Once somebody
    has edited them, they are that person's.
    """
    with event_store.reading(services.engine) as db:
        written = expansions.of_issues(db, (seen.content_id for seen in looks.values() if seen))
        return {card_id: _own(db, seen, written) for card_id, seen in looks.items()}


def _own(
    db: Connection, seen: CardLook | None, written: Mapping[str, expansions.ExpansionRow]
) -> CardLook | None:
    expansion = written.get(seen.content_id) if seen else None
    if seen is None:
        return None
    seen = replace(seen, body=words_of_draft(seen.body))
    if expansion is not None and expansions.digest(seen.body) == expansion.written:
        return replace(seen, body=expansion.before, expanded=True)
    marker = marker_of(seen.body)
    entry = outbox.get(db, marker.key) if marker else None
    if entry is None or entry.act != "expand_body" or entry not in outbox.open_of_card(db, entry.card_id):
        return seen
    known = cards.get(db, entry.card_id)
    if known is None or known.content_id != seen.content_id:
        return seen
    return replace(seen, body=known.body, expanded=known.expanded)  # written, and not committed yet
