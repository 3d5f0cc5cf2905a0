"""Finds a run's artifacts for a visitor who may read every repository that the run is about."""

import re
from dataclasses import dataclass

from bot.dashboard._site import Site
from ledger import book
from ledger.ids import RunId
from ledger.views import artifacts, cards, runs
from ledger.views.artifacts import ArtifactRow
from ledger.views.cards import CardRow
from ledger.visits import Visit

RUN = re.compile(r"r[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left, and the card that it worked on."""

    card: CardRow
    files: tuple[ArtifactRow, ...]


def found(site: Site, visit: Visit, run: str) -> Left | None:
    """Return what the run left; None where there is no such run, or the visitor may not know of it.

    Raises BusyError. The briefing of a run tells of the issue, which may be in another repository than
    the work: the visitor has to be able to read both.
    """
    if not RUN.fullmatch(run):
        return None
    with book.reading(site.engine) as db:
        known = runs.get(db, RunId(run))
        card = cards.get(db, known.card_id) if known is not None else None
        files = artifacts.of_run(db, RunId(run))
    if known is None or card is None:
        return None
    about = frozenset(filter(None, (known.repository, card.repository)))
    return Left(card, files) if site.readers.may(visit, about) else None
