"""The target of an act, read from the ledger: the card, its run, the place of their conversation."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from bot.outbox.contract import GivenUpError, OutboxContext, TooSoonError
from ledger.ids import CardId, RunId
from ledger.queue import outbox
from ledger.views import cards, runs
from ledger.views.cards import CardRow
from ledger.views.runs import RunRow

MAX_RUNS = 50  # of a card, newest first, that are searched for one that pushed
CONVERSION, CONVERSION_S = "convert_draft", 2  # a draft issue is being converted by an entry of its own


@dataclass(frozen=True, slots=True)
class Talk:
    """A place for comments on GitHub: an issue or a pull request, which share this API."""

    repository: str
    number: int


def card_of(db: Connection, card_id: CardId) -> CardRow:
    """Return the card; raises GivenUpError for an unknown one."""
    card = cards.get(db, card_id)
    if card is None:
        raise GivenUpError("the card is unknown: it was deleted before it was seen")
    return card


def read_card(context: OutboxContext, card_id: CardId) -> CardRow:
    """Return the card as it is now; raises GivenUpError for an unknown one."""
    with context.reading() as db:
        return card_of(db, card_id)


def run_of(db: Connection, run_id: RunId) -> RunRow:
    """Return the run; raises GivenUpError for an unknown one."""
    run = runs.get(db, run_id)
    if run is None:
        raise GivenUpError(f"run {run_id} is unknown")
    return run


def issue_of(card: CardRow, context: OutboxContext) -> Talk:
    """Return the card's issue; raises TooSoonError while it is a draft issue that is being converted.

    Raises GivenUpError for a draft whose conversion was given up.
    """
    if card.repository is not None and card.number is not None:
        return Talk(card.repository, card.number)
    with context.reading() as db:
        waiting = outbox.open_of_card(db, card.card_id)
    if all(entry.act != CONVERSION for entry in waiting):
        raise GivenUpError("the card is a draft issue, which has no comments: convert it to an issue")
    due_at = context.clock() + timedelta(seconds=CONVERSION_S)
    raise TooSoonError(due_at, "the card is a draft issue still")


def pull_of(card: CardRow) -> Talk | None:
    """Return the card's pull request in any state, or None."""
    if card.pull_repository is None or card.pull_number is None:
        return None
    return Talk(card.pull_repository, card.pull_number)


def place_of(card: CardRow, place: str, context: OutboxContext) -> Talk:
    """Return the place named issue, pull or review; the pull request may be in another repository."""
    pull = None if place == "issue" else pull_of(card)
    return pull or issue_of(card, context)


def talk_of_run(db: Connection, run_id: RunId, context: OutboxContext) -> Talk:
    """Return the place of the run's comments: the pull request if there was one before it, else the issue."""
    run = run_of(db, run_id)
    card = card_of(db, run.card_id)
    pull = pull_of(card)
    return pull if pull is not None and talks_on_pull(db, card, run) else issue_of(card, context)


def talks_on_pull(db: Connection, card: CardRow, run: RunRow) -> bool:
    """Tell whether an earlier run pushed to the card's pull request.

    Only the past counts, so that all comments of one run are in one place.
    """
    return card.pull_number is not None and any(
        earlier.attempt < run.attempt and earlier.pushed_head
        for earlier in runs.of_card(db, card.card_id, limit=MAX_RUNS)
    )
