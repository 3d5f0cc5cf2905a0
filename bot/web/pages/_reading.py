"""Finds a run's artifacts for a visitor who may read every repository that the run is about."""

import re
from dataclasses import dataclass

from bot.web.pages._site import Site
from ledger.events.artifact import BRIEFING
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.views import artifacts, cards, runs
from ledger.views.artifacts import ArtifactRow
from ledger.views.cards import CardRow

RUN = re.compile(r"r[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left, and the card that it worked on."""

    card: CardRow
    files: tuple[ArtifactRow, ...]


def found(site: Site, visit: SignIn, run: str) -> Left | None:
    """Return what the run left; None where there is no such run, or the visitor may not know of it.

    Raises BusyError. The visitor has to be able to read the repository of the work and that of the issue.
    The briefing is for the operator alone: it tells of other cards, and of comments that may be gone.
    """
    if not RUN.fullmatch(run):
        return None
    with event_store.reading(site.engine) as db:
        known = runs.get(db, RunId(run))
        card = cards.get(db, known.card_id) if known is not None else None
        files = tuple(one for one in artifacts.of_run(db, RunId(run)) if one.kind != BRIEFING)
    if known is None or card is None:
        return None
    about = frozenset(filter(None, (known.repository, card.repository)))
    return Left(card, files) if site.readers.may(visit, about, known.queued_at) else None
