"""Ledger reads about files that two cards' work has in common."""

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection

from ledger.ids import CardId, RunId
from ledger.queries import siblings
from ledger.views import cards, changed_files, runs
from rules.card import overlap
from rules.card.shared_files import SharedFiles
from rules.policy.model import Policy
from rules.runs.queue import Waiting


def of_card(db: Connection, card_id: CardId) -> tuple[SharedFiles, ...]:
    """Return the work of other cards on the files that the card's work changes, as far as git has said."""
    own = changed_files.of_card(db, card_id)
    if own is None:
        return ()
    mine = set(own.files)
    others = (row for row in siblings.changing(db, own.repository) if row.card_id != card_id)
    shared = (
        SharedFiles(row.run_id, row.at_work, row.pull, tuple(sorted(mine.intersection(row.files))))
        for row in others
    )
    return tuple(it for it in shared if it.files)


def hold_back(db: Connection, policy: Policy, queue: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the runs, with why they wait for other work on the same files where the policy says so."""
    if policy.board.overlap != "wait":
        return tuple(queue)
    return tuple(replace(run, overlap=_obstacle(db, run)) if run.models else run for run in queue)


def _obstacle(db: Connection, waiting: Waiting) -> str:
    run = runs.get(db, RunId(waiting.run_id))
    if run is None or run.claimed_at is not None or run.mode != "fix":
        return ""  # what has begun waits for nobody, so that two never wait for each other
    card = cards.get(db, waiting.card_id)
    own_pull = card.pull_number if card is not None and card.pull_state == "open" else None
    return overlap.overlap_obstacle(of_card(db, waiting.card_id), own_pull or 0)
