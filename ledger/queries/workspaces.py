"""Query of the workspaces on the hosts, with their cards, their last runs, and what is saved of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, false, or_, select

from ledger.db.rows import all_rows, pick
from ledger.ids import CardId
from ledger.queries.card_filter import CardScope, within_of_run
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.rows.workspaces import CardWorkspace
from ledger.states import CardState, Ending, RunState
from ledger.views.cards import cards
from ledger.views.checkpoints import NEWEST, CheckpointRow, checkpoints, of_place
from ledger.views.runs import runs
from ledger.views.workspaces import WorkspaceRow, workspaces

_CUT_SHORT = ("hung", "internal")  # reasons of an end that made no last checkpoint


@dataclass(frozen=True, slots=True)
class WorkspaceFilter:
    """Conditions on workspaces: all that are given must hold. `before`: taken by no run since then."""

    host: str = ""
    column: str = ""
    state: CardState | None = None
    before: datetime | None = None
    min_bytes: int = 0


ALL = WorkspaceFilter()
MAX_OF_CARD = 20


@dataclass(frozen=True, slots=True)
class ListedWorkspace:
    """A workspace with its card and its last run."""

    workspace: CardWorkspace
    card: CardRow
    run: RunRow


def longest_unused(
    db: Connection,
    scopes: Sequence[CardScope] | None,
    wanted: WorkspaceFilter = ALL,
    *,
    card_id: CardId | None = None,
    limit: int,
) -> tuple[ListedWorkspace, ...]:
    """Return workspaces on hosts, the longest unused first; None as `scopes`: of all cards."""
    conditions = [~workspaces.c.gone, *_conditions(wanted)]
    if scopes is not None:
        conditions.append(or_(false(), *map(within_of_run, scopes)))
    if card_id is not None:
        conditions.append(runs.c.card_id == card_id)
    query = (
        pick(WorkspaceRow, workspaces)
        .join(runs, runs.c.run_id == workspaces.c.run_id)
        .join(cards, cards.c.card_id == runs.c.card_id)
        .where(*conditions)
        .order_by(workspaces.c.taken_at, workspaces.c.place)
        .limit(limit)
    )
    found = all_rows(db, WorkspaceRow, query)
    of_runs = pick(RunRow, runs).where(runs.c.run_id.in_([row.run_id for row in found]))
    last = {run.run_id: run for run in all_rows(db, RunRow, of_runs)}
    of_cards = pick(CardRow, cards).where(cards.c.card_id.in_([run.card_id for run in last.values()]))
    whose = {card.card_id: card for card in all_rows(db, CardRow, of_cards)}
    listed = ((row, last[row.run_id]) for row in found)  # the query joins both
    return tuple(_describe(db, row, run, whose[CardId(run.card_id)]) for row, run in listed)


def of_card(db: Connection, card_id: CardId) -> tuple[CardWorkspace, ...]:
    """Return the card's workspaces: where it is worked on, and where it was investigated."""
    listed = longest_unused(db, None, card_id=card_id, limit=MAX_OF_CARD)
    return tuple(it.workspace for it in listed)


def _conditions(wanted: WorkspaceFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.host:
        yield workspaces.c.host == wanted.host
    if wanted.column:
        yield cards.c.column == wanted.column
    if wanted.state is not None:
        yield cards.c.state == wanted.state
    if wanted.before is not None:
        yield workspaces.c.taken_at < wanted.before
    if wanted.min_bytes:
        size = select(checkpoints.c.place).where(
            checkpoints.c.run_id == workspaces.c.run_id,
            checkpoints.c.point == NEWEST,
            checkpoints.c.disk_bytes >= wanted.min_bytes,
        )
        yield and_(size.exists())


def _describe(db: Connection, row: WorkspaceRow, run: RunRow, card: CardRow) -> ListedWorkspace:
    kept = of_place(db, row.place)
    workspace = CardWorkspace(
        place=row.place,
        card_id=CardId(run.card_id),
        host=row.host,
        run_id=run.run_id,
        run_state=run.state,
        branch=run.branch,
        taken_at=row.taken_at,
        disk_bytes=kept.disk_bytes if kept else 0,
        uncommitted=kept.uncommitted if kept else (),
        uncommitted_files=kept.uncommitted_files if kept else 0,
        unsaved=tuple(_list_unsaved(row, run, kept)),
        clean_by=row.clean_by,
    )
    return ListedWorkspace(workspace, card, run)


def _list_unsaved(row: WorkspaceRow, run: RunRow, kept: CheckpointRow | None) -> Iterator[str]:
    """Yield what only the workspace has; nothing where its work is on GitHub, or it was only read there."""
    ended = run.state is RunState.ENDED
    if run.ending is Ending.SUCCEEDED or (ended and row.place != run.card_id):
        return
    if kept is None or (kept.run_id, kept.generation) != (row.run_id, row.generation):
        yield f"the work of {run.run_id}: it has no checkpoint"
        return
    cut_short = run.ending is Ending.LOST or run.reason in _CUT_SHORT if ended else run.reclaims > 0
    if cut_short:
        yield f"what {run.run_id} did since its last checkpoint: its worker was lost"
    yield from kept.left_out
