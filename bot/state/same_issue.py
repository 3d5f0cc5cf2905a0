"""Ledger reads about the same issue's cards on other boards: whose run goes first, and whose work is done."""

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection

from ledger.event import Event
from ledger.events.pull import PullChanged, PullOpened
from ledger.ids import CardId
from ledger.queries import same_issue
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.rows.same_issue import RunElsewhere
from ledger.states import Ending, RunState
from ledger.views import boards, cards
from rules.card.state import say_whose_turn
from rules.runs.queue import Waiting


def hold_same_issue(db: Connection, queue: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the runs, with why they wait for a run on the same issue."""
    queue = tuple(queue)
    ahead = same_issue.find_runs_ahead(db, tuple(run.run_id for run in queue))
    return tuple(
        replace(run, same_issue=say_whose_turn(ahead[run.run_id])) if run.run_id in ahead else run
        for run in queue
    )


def goes_first(db: Connection, run: RunRow | None) -> RunElsewhere | None:
    """Return the run that a queued run waits for; None for any other, and where it waits for none."""
    if run is None or run.state is not RunState.QUEUED:
        return None
    return same_issue.find_runs_ahead(db, (run.run_id,)).get(run.run_id)


def find_work_done(db: Connection, row: CardRow, run: RunRow | None) -> RunElsewhere | None:
    """Return the run of another of the issue's cards that did the work since the card's own run was queued,
    unless that began and lives, or has done it as well.
    """
    if run is not None and (run.ending is Ending.SUCCEEDED or (not run.ending and run.claimed_at)):
        return None
    other_run = same_issue.find_work_done(db, row.card_id)
    earlier = other_run and run and other_run.ended_at and other_run.ended_at < run.queued_at
    return None if earlier else other_run


def of_one_owner(db: Connection, card_id: CardId) -> tuple[CardRow, ...]:
    """Return the issue's other cards on boards of the same owner, of those that Cardinal serves."""
    row = cards.get(db, card_id)
    own = boards.owner_of(db, row.board_id) if row else ""
    near = {board.board_id for board in boards.list_served(db) if board.owner == own}
    return tuple(card for card in same_issue.cards_beside(db, card_id) if card.board_id in near)


def share_pull(db: Connection, opened: PullOpened) -> tuple[PullOpened, ...]:
    """Return that the pull request is that of the issue's other cards as well, if they have no open one."""
    return tuple(
        replace(opened, card_id=other.card_id)
        for other in of_one_owner(db, opened.card_id)
        if not other.has_open_pull
    )


def pull_of_others(db: Connection, card_id: CardId) -> tuple[Event, ...]:
    """Return the events of the pull request that the issue has on another board, for a card that is new."""
    card = next((it for it in reversed(of_one_owner(db, card_id)) if it.pull_number is not None), None)
    if card is None or card.pull_number is None:
        return ()
    where = (card.pull_repository or "", card.pull_number, card.pull_node_id, card.branch)
    opened = PullOpened(card_id, *where, card.pull_head, card.pull_draft)
    if card.has_open_pull:
        return (opened,)
    shape = (card.pull_state, card.pull_draft, card.pull_head)
    return (opened, PullChanged(card_id, card.pull_number, *shape))
