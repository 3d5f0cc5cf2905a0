"""The other cards whose work stands in a repository: under way, or as an open pull request."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, literal, or_, select

from ledger.db.statements import statement
from ledger.ids import BoardId, CardId
from ledger.rows.same_issue import SiblingRow
from ledger.states import RunState
from ledger.views import checks, signed_commits
from ledger.views.boards import boards
from ledger.views.cards import IS_IN_LANE, cards
from ledger.views.changed_files import changed_files
from ledger.views.runs import runs

MAX_SIBLINGS = 200  # that one look at a repository reads


def changing(db: Connection, repository: str) -> tuple[SiblingRow, ...]:
    """Return the cards whose work changes files of the repository, the oldest pull requests first."""
    at_work = and_(runs.c.state != RunState.ENDED, runs.c.claimed_at.is_not(None))
    is_open = and_(cards.c.pull_state == "open", cards.c.pull_repository == repository)
    query = (
        select(cards.c.card_id, cards.c.board_id, cards.c.run_id, at_work, is_open, cards.c.pull_number)
        .add_columns(changed_files.c.files)
        .select_from(changed_files)
        .join(cards, cards.c.card_id == changed_files.c.card_id)
        .join(runs, runs.c.run_id == cards.c.run_id)
        .where(changed_files.c.repository == repository, ~cards.c.archived, or_(at_work, is_open))
        .order_by(cards.c.pull_number, cards.c.card_id)
    )
    return tuple(
        SiblingRow(row[0], row[1], row[2], bool(row[3]), row[5] if row[4] else 0, tuple(row[6]))
        for row in db.execute(query.limit(MAX_SIBLINGS))
    )


def open_pulls(db: Connection, repository: str, limit: int) -> tuple[CardId, ...]:
    """Return the cards with an open pull request in the repository, the oldest pull requests first."""
    query = select(cards.c.card_id).where(cards.c.pull_repository == repository, cards.c.pull_state == "open")
    mine = query.where(~cards.c.archived).order_by(cards.c.pull_number).limit(limit)
    return tuple(CardId(card_id) for card_id in db.scalars(mine))


class LaneRow(NamedTuple):
    """A card in a repository's merge lane."""

    card_id: CardId
    pull: int


@statement
def _lane(repository: Any, most: Any) -> Select[Any]:
    query = select(cards.c.card_id, cards.c.pull_number).where(
        cards.c.pull_repository == repository,
        cards.c.pull_state == literal("open"),
        IS_IN_LANE,
        ~cards.c.archived,
        cards.c.board_id.not_in(select(boards.c.board_id).where(boards.c.removed)),
    )
    return query.order_by(cards.c.reason.desc(), cards.c.moved_at, cards.c.card_id).limit(most)


def merge_lane(db: Connection, repository: str, limit: int) -> tuple[LaneRow, ...]:
    """Return the cards in the repository's merge lane: whose turn it is, then by their drag.

    Those of a removed board are in none: nobody merges them. It is read at many events.
    """
    return tuple(LaneRow(*row) for row in _lane.all(db, {"repository": repository, "most": limit}))


def lane_repositories(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories in whose merge lanes the board has cards."""
    lanes = select(cards.c.pull_repository, cards.c.board_id).distinct()
    lanes = lanes.where(IS_IN_LANE, cards.c.pull_state == "open")  # of all boards: they are few
    return tuple(repository for repository, board in db.execute(lanes) if board == board_id)


def is_checked_on(db: Connection, card_id: CardId, head: str, base: str, *, rebased: bool) -> bool:
    """Whether the checks of the card's commit passed, or were waived, while the base branch was at `base`.

    `rebased`: only a run counts that put the commit on that base. Of another run, the commit may begin at an
    older one.
    """
    judged = signed_commits.find_judged_commit(db, head)
    for table in (checks.tiers, checks.waivers):
        here = runs.c.run_id == table.c.run_id, table.c.base == base, table.c.head.in_((head, judged))
        passed = (checks.tiers.c.clean, checks.tiers.c.passed) if table is checks.tiers else ()
        put_there = (runs.c.rebases,) if rebased else ()
        query = select(runs.c.run_id).where(runs.c.card_id == card_id, *put_there, *here, *passed)
        if db.execute(query.limit(1)).first() is not None:
            return True
    return False
