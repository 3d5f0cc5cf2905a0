"""Standstills of the operator's boards, and Cardinal's queues and processes: GitHub is not asked."""

import socket
from collections.abc import Iterator
from datetime import datetime
from shlex import quote
from typing import NamedTuple

from flask import Response, make_response, render_template
from redis.exceptions import RedisError
from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.errors import UnavailableError
from bot.github.rate_limit import POINTS_PER_MINUTE, until_now
from bot.ingest.delivery import repository_of
from bot.state import served_boards
from bot.state.served_boards import ServedBoard
from bot.state.standstill import MAX_BECAUSE, REPLAY, count_left_out, subject_name, way_out, words
from bot.system import lock_file, program
from bot.system import redis as known
from bot.web.site import doctor_results, parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from bot.web.site.visibility import VisibleBoard, path_of
from ledger.log import event_store
from ledger.queries import hosts, standstill
from ledger.queries.standstill import UNDONE_AFTER, Standstill, StandstillSort
from ledger.queue import inbox, outbox, refresh_requests
from ledger.queue.inbox import Quarantined
from ledger.queue.sign_ins import SignIn
from rules.text import brief, count, plain

MAX_EACH = 20  # things of one sort on one board
NOTHING = "Everything is moving."
HIDDEN = (
    "Standstills on {boards} of yours are not shown: they could reveal a repository that is hidden "
    "from you. The operator sees them with cardinal doctor."
)
HOW = "`cardinal doctor` checks more: GitHub, the engine, the store and each repository."
NO_REDIS = "Redis does not answer, so workers cannot be listed: start it, or correct CARDINAL_REDIS_URL."
NO_WORKERS = "Redis knows of no workers: start {workers}."


class ProcessView(NamedTuple):
    """A process; `alive` is how long ago it last showed that it lives, or who says that it does."""

    name: str
    machine: str
    pid: str
    started: str
    alive: str


def mount(site: Site) -> None:
    """Mount the page, for people who may write to a board's policy, about boards that they see whole."""

    @site.get("/health")
    def health(visit: SignIn) -> Response:
        parameters.check_names()
        mine = site.list_operated_boards(visit)
        if not mine:
            return site.nothing(visit)
        return make_response(_page(site, visit, mine))


def _page(site: Site, visit: SignIn, mine: tuple[ServedBoard, ...]) -> str:
    now, ids = site.clock(), {board.board_id for board in mine}
    visible = [board for board in site.whole_to(visit) if board.board_id in ids]
    running, trouble = processes(site.services, now)
    with event_store.reading(site.engine) as db:
        whole = len(visible) == len(served_boards.all_served(db, site.config))
    all_read = whole and doctor_results.reads_removed(site, visit)
    aside, aside_more = _list_quarantined(site, visit, now) if whole else ([], 0)
    with event_store.reading(site.engine) as db:
        queues = _queues(db, now) if whole else ()
        stuck = [(board, standstill.board_standstills(db, board.scope, now, MAX_EACH)) for board in visible]
        listed = hosts.statuses(db)
        examined = doctor_results.of_hosts(db, now)
        installation = doctor_results.of_installation(db, now) if all_read else None
    return render_template(
        "health.html",
        title="Health",
        lines=_lines(len(mine) - len(visible), any(sorts for _, sorts in stuck)),
        stuck=[
            (
                plain(board.title),
                board.path,
                [(_things(site, board, it, now), count_left_out(it)) for it in sorts],
            )
            for board, sorts in stuck
            if sorts
        ],
        queues=queues,
        aside=aside,
        aside_more=aside_more,
        budgets=[_budget(site, board) for board in {board.owner: board for board in mine}.values()],
        hosts=[(plain(it.row.name), it.state, brief(it.silence), plain(it.row.version)) for it in listed],
        processes=running,
        examined=examined,
        installation=installation,
        never=doctor_results.NEVER,
        program=program.of_home(site.config.home),
        trouble=trouble,
        how=HOW.replace("`", ""),
        read_at=stamp(now),
        visit=visit,
    )


def _lines(hidden: int, anything: bool) -> tuple[str, ...]:
    if hidden:
        return (HIDDEN.format(boards=count(hidden, "board")),)
    return () if anything else (NOTHING,)


def _things(
    site: Site, board: VisibleBoard, sort: StandstillSort, now: datetime
) -> list[tuple[str, str, str, str]]:
    """Return name and path of its subject, the standstill, and the way out."""
    home = site.config.home
    return [
        (subject_name(it), _path(board, it), words(it, now), way_out(it.kind, home)) for it in sort.oldest
    ]


def _path(board: VisibleBoard, it: Standstill) -> str:
    if it.card_id is None:
        return board.path
    return path_of(it.repository, it.number, it.card_id) or (f"/runs/{it.run_id}" if it.run_id else "")


def _list_quarantined(
    site: Site, visit: SignIn, now: datetime
) -> tuple[list[tuple[str, str, str, str]], int]:
    """Return the oldest deliveries that failed too often, and how many more there are.

    Those about a repository only if the visitor may read it: it may be on no board. Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        oldest, total = inbox.list_quarantined(db, limit=MAX_EACH), inbox.delivery_counts(db)["quarantined"]
        stored = [(it, inbox.get(db, it.delivery_id)) for it in oldest]
    about = {it: repository_of(delivery) for it, delivery in stored if delivery is not None}
    readable = site.readers.readable(visit, {name: it.received_at for it, name in about.items() if name})
    shown = [_aside(it, name, now) for it, name in about.items() if not name or name in readable]
    return shown, total - len(shown)


def _aside(it: Quarantined, repository: str, now: datetime) -> tuple[str, str, str, str]:
    """Return the delivery's kind, its age, why it failed, and the command that releases it."""
    what = plain(" ".join(filter(None, (repository, it.event, it.action))))
    command = f"cardinal replay {quote(plain(it.delivery_id))}"
    return what, brief(now - it.received_at), plain(it.error, MAX_BECAUSE), command


def _queues(db: Connection, now: datetime) -> tuple[tuple[str, int, str], ...]:
    """Return the queues of the whole installation: name, length, and the next step where it is not empty."""
    counts = inbox.delivery_counts(db)
    late, _ = outbox.count_stuck(db, now, UNDONE_AFTER.total_seconds())
    return (
        ("deliveries waiting", counts["waiting"] + counts["claimed"], "none: they are handled in order"),
        ("deliveries that keep failing", counts["quarantined"], REPLAY.replace("`", "")),
        ("cards to read again", refresh_requests.count_waiting(db), "none: they are read in order"),
        (f"acts on GitHub delayed by over {brief(UNDONE_AFTER)}", late, "see the list above, by board"),
    )


def _budget(site: Site, board: ServedBoard) -> tuple[str, str]:
    """Return the board's owner, and the rest of GitHub's allowance for the installation there."""
    try:
        budget = site.services.on(board).hub.budget
        (spent, now_s), until_s = budget.read_usage(), budget.barred_until_s()
    except UnavailableError as error:
        return board.owner, plain(str(error))
    hours = (
        f"{window.remaining:,} of {window.limit:,} {name} requests left this hour"
        for name, window in sorted(spent.windows.items())
        if window.reset_s > now_s
    )
    minute = f"{until_now(spent.points, 60, now_s)} of {POINTS_PER_MINUTE} points used this minute"
    waits = (
        [f"no requests to GitHub for {until_s - now_s:.0f} s; they resume on their own"] if until_s else []
    )
    return board.owner, "; ".join((*waits, *hours, minute))


def processes(services: Services, now: datetime) -> tuple[list[ProcessView], str]:
    """Return the processes by machine, and their faults; empty where there is none."""
    home = services.config.home
    here, group = socket.gethostname(), lock_file.read_presence(home)
    names = {(here, str(pid)): name for name, pid in group.parts.items()} if group else {}
    kept = f"kept alive by {program.of_home(home)}"
    try:
        workers = known.workers(services.redis)
    except RedisError:
        return list(_parts(names, set(), kept)), NO_REDIS
    listed = [_worker(it, names, now) for it in workers]
    listed += _parts(names, {(it.machine, it.pid) for it in workers}, kept)
    nobody = NO_WORKERS.format(workers=program.of_workers(home).replace("`", ""))
    return sorted(listed, key=lambda it: (it.machine, it.name)), "" if workers else nobody


def _worker(it: known.WorkerSeen, names: dict[tuple[str, str], str], now: datetime) -> ProcessView:
    kind = it.queues.partition(",")[0].partition(":")[0]  # the first queue says it: runs:b,runs
    name = names.get((it.machine, it.pid)) or f"worker of {plain(kind)}"
    ages = (f"{brief(now - moment)} ago" for moment in (it.born_at, it.seen_at))
    return ProcessView(name, plain(it.machine), plain(it.pid), *ages)


def _parts(names: dict[tuple[str, str], str], seen: set[tuple[str, str]], kept: str) -> Iterator[ProcessView]:
    for (machine, pid), name in names.items():
        if (machine, pid) not in seen:
            yield ProcessView(name, machine, pid, "", kept)
