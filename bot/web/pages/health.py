"""What stands still on the operator's boards, and what waits in Cardinal: from the ledger alone."""

from collections.abc import Iterator
from datetime import datetime

from flask import Response, make_response, render_template
from sqlalchemy import Connection

from bot.github.errors import UnavailableError
from bot.github.rate_limit import POINTS_PER_MINUTE, until_now
from bot.state import served_boards
from bot.state.served_boards import ServedBoard
from bot.state.standstill import WAYS_OUT, name_of, words
from bot.web.pages._lists import path_of
from bot.web.pages._site import Site, VisibleBoard, when
from ledger.log import event_store
from ledger.queries import hosts, standstill
from ledger.queries.hosts import HostStatus
from ledger.queue import inbox, outbox, refresh_requests
from ledger.queue.sign_ins import SignIn
from rules.text import count, plain

MAX_EACH = 20  # things of one sort on one board
MAX_WAITING = 1000
NOTHING = "Nothing stands still."
HIDDEN = (
    "What stands still on {boards} of yours is not shown: it could tell of a repository that is hidden from"
    " you. Whoever runs Cardinal sees it with cardinal doctor."
)
HOW = "`cardinal doctor` looks deeper: at GitHub, the engine, the store, and each repository."


def mount(site: Site) -> None:
    """Mount the page, for people who may write to a board's policy, about boards that they see whole."""

    @site.blueprint.get("/health")
    def health() -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        mine = site.operated_by(visit)
        if not mine:
            return site.nothing(visit)
        return make_response(_page(site, visit, mine))


def _page(site: Site, visit: SignIn, mine: tuple[ServedBoard, ...]) -> str:
    now, ids = site.clock(), {board.board_id for board in mine}
    visible = [board for board in site.whole_to(visit) if board.board_id in ids]
    with event_store.reading(site.engine) as db:
        whole = len(visible) == len(served_boards.every(db, site.config))
        queues = _queues(db, now) if whole else ()
        stuck = [(board, list(_stuck(db, board, now))) for board in visible]
        listed = hosts.statuses(db)
    return render_template(
        "health.html",
        title="Health",
        lines=_lines(len(mine) - len(visible), any(lines for _, lines in stuck)),
        stuck=[(plain(board.title), board.path, lines) for board, lines in stuck if lines],
        queues=queues,
        budgets=[_budget(site, board) for board in {board.owner: board for board in mine}.values()],
        hosts=_states(listed),
        how=HOW.replace("`", ""),
        read_at=when(now),
        visit=visit,
    )


def _lines(hidden: int, anything: bool) -> tuple[str, ...]:
    if hidden:
        return (HIDDEN.format(boards=count(hidden, "board")),)
    return () if anything else (NOTHING,)


def _stuck(db: Connection, board: VisibleBoard, now: datetime) -> Iterator[tuple[str, str, str, str]]:
    """Yield name and path of what it is about, what stands still, and the way out."""
    for it in standstill.of_board(db, board.scope, now, MAX_EACH):
        path = path_of(it.repository, it.number, it.card_id) if it.card_id else board.path
        yield name_of(it), path, words(it, now), WAYS_OUT[it.kind]


def _queues(db: Connection, now: datetime) -> tuple[tuple[str, int, str], ...]:
    """Return the queues of the whole installation: name, length, and what to do where it is not empty."""
    counts = inbox.counts(db)
    late = len(outbox.stuck(db, now, standstill.UNDONE_AFTER.total_seconds()))
    refreshes = len(refresh_requests.waiting(db, limit=MAX_WAITING))
    return (
        ("deliveries that wait", counts["waiting"] + counts["claimed"], "they are taken up in order"),
        ("deliveries that failed time and again", counts["quarantined"], "cardinal replay lists them"),
        ("cards that are read again", refreshes, "they are taken up in order"),
        ("acts on GitHub that wait for over 5 minutes", late, "they are listed above, by board"),
    )


def _budget(site: Site, board: ServedBoard) -> tuple[str, str]:
    """Return the board's owner, and what is left of GitHub's allowance for the installation there."""
    try:
        spent, now_s = site.services.on(board).hub.budget.seen()
    except UnavailableError as error:
        return board.owner, plain(str(error))
    hours = (
        f"{window.remaining} of {window.limit} {name} requests of this hour are left"
        for name, window in sorted(spent.windows.items())
        if window.reset_s > now_s
    )
    minute = f"{until_now(spent.points, 60, now_s)} of {POINTS_PER_MINUTE} points of this minute are spent"
    closed = spent.closed_until_s - now_s
    waits = [f"GitHub is left alone for {closed:.0f} s: it goes on by itself"] if closed > 0 else []
    return board.owner, "; ".join((*waits, *hours, minute))


def _states(listed: tuple[HostStatus, ...]) -> list[tuple[str, str]]:
    return [(host.row.name, host.state) for host in listed]
