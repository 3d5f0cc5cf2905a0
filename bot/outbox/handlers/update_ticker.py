"""Writes the board's status update: the count of cards that run, wait and need a person."""

from collections.abc import Iterable

from sqlalchemy import Connection

from bot.github.api import projects
from bot.github.errors import NotFoundError
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import last_of
from bot.render.board import status_update
from bot.render.markdown.marker import text_digest
from bot.state import policies, snapshots, structure
from bot.state.outbox_context import OutboxContext
from ledger.events.run import CHECK
from ledger.ids import BoardId
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue.outbox import Entry
from ledger.states import CardState
from ledger.views import full_disks, halts, runs, stalls
from rules.card.dependencies import may_name
from rules.intents.outbound import UpdateTicker
from rules.snapshot import say_loss

# Each board has one ticker.
ACT = Act("ticker:{card_id}", priority=3, coalesce=True, wait_s=15.0)
UNNAMED = "a repository of the board"
URGENT = (CardState.NEEDS_INPUT, CardState.FAILED)


def carry_out(context: OutboxContext, intent: UpdateTicker, entry: Entry) -> ActResult:
    """Edit the board's status update in place, or post it; nothing without a change."""
    board_id = BoardId(intent.card_id)
    with context.reading() as db:
        counts = count_cards(db, board_id)
        lost = (
            *structure.troubles(db, board_id),
            *_losses(db, board_id),
        )
        full = full_disks.newest(db, board_id)
    over = status_update.full_disk(full.since, full.until, context.clock()) if full else ()
    text, status = status_update.write(counts, lost, over), status_update.board_status(counts, lost)
    digest = text_digest(text)
    last = last_of(context, entry.key)
    if last is not None and last.digest == digest:
        return ActResult(last.remote_id, digest)
    if not (last and last.remote_id) and not lost and not over and counts == status_update.Counts(0, 0, 0):
        return ActResult()  # no update was ever posted on this board, and there is no news
    known = last.remote_id if last else ""
    if not known and entry.attempts > 1:  # an earlier attempt may have posted it without an answer
        known = projects.own_status_update(context.hub, board_id)
    if known:
        try:
            projects.edit_status_update(context.hub, known, text, status)
            return ActResult(known, digest)
        except NotFoundError:  # somebody deleted it
            pass
    return ActResult(projects.post_status_update(context.hub, board_id, text, status), digest)


def _losses(db: Connection, board_id: BoardId) -> Iterable[str]:
    """Return the board's losses as sentences. Readers of a board need not read all its repositories: none is
    named unless the policy says so; Health and `cardinal doctor` name them.
    """
    named = may_name(policies.in_force(db, board_id), open_to_readers=False)
    known = snapshots.board_losses(db, board_id)
    return dict.fromkeys(say_loss(loss, "" if named or "/" not in loss.target else UNNAMED) for loss in known)


def count_cards(db: Connection, board_id: BoardId) -> status_update.Counts:
    """Return the count of the board's cards that run, wait for a person, and are queued.

    Runs that only check have no agent, and their steps bring no ticker up to date.
    """
    waiting = lanes.waiting_by_state(db, [CardScope(board_id)])
    halt = halts.of_board(db, board_id)
    return status_update.Counts(
        running=sum(run.kind != CHECK for run in runs.list_held(db, board_id)),
        waiting=sum(waiting.values()),
        queued=sum(run.kind != CHECK for run in runs.list_queued(db, board_id)),
        halted=halt.because if halt else "",
        urgent=sum(waiting.get(state, 0) for state in URGENT),
        stalled=stalls.counts(db).get(board_id, 0),
    )
