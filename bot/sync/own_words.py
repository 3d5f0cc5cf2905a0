"""What people wrote in a card's description, where a rule's model wrote it out over their words."""

from collections.abc import Mapping
from dataclasses import replace

from bot.bootstrap import Services
from bot.github.api.project_models import CardLook
from ledger.ids import CardId
from ledger.log import event_store
from ledger.views import expansions

Looks = Mapping[CardId, CardLook | None]


def with_own_words(services: Services, looks: Looks) -> Looks:
    """Return the looks with the descriptions that people wrote.

    A model's words carry nobody's rights: they neither choose a repository nor steer an agent. Once somebody
    has edited them, they are that person's.
    """
    with event_store.reading(services.engine) as db:
        written = expansions.of_issues(db, (seen.content_id for seen in looks.values() if seen))
    return {card_id: _own(seen, written) for card_id, seen in looks.items()}


def _own(seen: CardLook | None, written: Mapping[str, expansions.ExpansionRow]) -> CardLook | None:
    expansion = written.get(seen.content_id) if seen else None
    if seen is None or expansion is None or expansions.digest(seen.body) != expansion.written:
        return seen
    return replace(seen, body=expansion.before, expanded=True)
