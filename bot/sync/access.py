"""Access of the App: its installation, its permissions, the repositories of its cards."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine

from bot.bootstrap import Services
from bot.github.api import repositories
from bot.github.app_manifest import manifest
from bot.github.client import Hub
from bot.github.errors import NotFoundError, RefusedError
from bot.reactor import reactor
from ledger.event import Event
from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import cards
from ledger.queue import leases, outbox, refresh_requests
from ledger.views import boards, losses, placements

log = logging.getLogger(__name__)

REPOSITORIES_EVERY_S = 600  # without a delivery about a change
MAX_ASKED_AGAIN = 20  # cards at once; the others follow with their next change
# Without these nothing can be done at all; without others some things wait.
CORE_PERMISSIONS = ("contents", "issues", "pull_requests", "organization_projects")
INSTALLED = ("uninstalled", "suspended")


def check_access(services: Services, *, thoroughly: bool) -> bool:
    """Append the changes of the App's access; return whether the installation works.

    One call as the App. With `thoroughly`, or when due, also compare the repositories, and refresh cards that
    wait for one.
    """
    with event_store.reading(services.engine) as db:
        board = boards.at(db, *services.board.address)
    if board is None:
        return True  # no board is known yet: the first call on it raises GitHub's reason
    board_id, owner = board.board_id, services.board.owner
    fault = _installation(services)
    _record(services, board_id, {owner: fault} if fault else {}, (owner,))
    if fault is not None and fault[0] in INSTALLED:
        return False
    if thoroughly or _is_due(services):
        _check_repositories(services, board_id)
        _refresh_waiting(services, board_id)
    return True


def _installation(services: Services) -> tuple[str, str] | None:
    """Return reason and detail of a fault of the installation; None without one."""
    try:
        installed = services.hub.installation()
    except NotFoundError:
        return "uninstalled", ""
    if installed.get("suspended_at"):
        return "suspended", ""
    granted = installed.get("permissions") or {}
    wanted = manifest(events=())
    lacking = wanted.lacking(granted)
    core = {name: wanted.permissions[name] for name in CORE_PERMISSIONS}
    reason = "permissions" if lacking == wanted.lacking({**granted, **core}) else "core_permissions"
    return (reason, ", ".join(lacking)) if lacking else None


def _is_due(services: Services) -> bool:
    with event_store.writing(services.engine) as db:
        name = f"access:repositories:{services.board.address}".casefold()
        return leases.due(db, name, every_s=REPOSITORIES_EVERY_S)


def _check_repositories(services: Services, board_id: BoardId) -> None:
    owner = services.board.owner.casefold()
    with event_store.reading(services.engine) as db:
        named = (*cards.repositories_of(db, board_id), *placements.repositories(db, board_id))
    mine = tuple(repository for repository in named if repository.partition("/")[0].casefold() == owner)
    there = {
        str(repository["full_name"]).casefold(): repository
        for repository in repositories.reachable(services.hub)
    }
    complete = len(there) < repositories.MAX_PAGES * 100
    wrong: dict[str, tuple[str, str]] = {}
    for repository in mine:
        visible = there.get(repository.casefold())
        if visible is None and complete and not _follow_rename(services, board_id, repository):
            wrong[repository] = ("removed", "")
        elif visible is not None and visible.get("archived"):
            wrong[repository] = ("archived", "")
    with event_store.reading(services.engine) as db:  # a repository without cards needs no report any more
        forgotten = tuple(loss.target for loss in losses.of_board(db, board_id) if "/" in loss.target)
    _record(services, board_id, wrong, tuple(dict.fromkeys((*mine, *forgotten))))
    _take_back(services, board_id, there)


def _follow_rename(services: Services, board_id: BoardId, repository: str) -> bool:
    """Append the rename or transfer of an invisible repository; return whether there is one."""
    now = find_new_name(services.hub, repository)
    if now:
        record_moved(services.engine, (RepositoryMoved(board_id, repository, now),), at=services.now())
    return bool(now)


def find_new_name(hub: Hub, repository: str) -> str:
    """Return the name that GitHub redirects to; empty without one, or if the repository is not visible."""
    try:
        now, _archived = repositories.look_up(hub, repository)
    except (NotFoundError, RefusedError):
        return ""
    return now if now.casefold() != repository.casefold() else ""


def record_moved(engine: Engine, moved: Sequence[RepositoryMoved], *, at: datetime) -> None:
    """Append new names of repositories; their cards and runs follow."""
    with event_store.writing(engine) as db:
        reactor.append_and_react(db, *moved, now=at)


def _take_back(services: Services, board_id: BoardId, there: Mapping[str, Mapping[str, Any]]) -> None:
    """Append the return of repositories that were transferred to another owner; no delivery reports it."""
    owner = services.board.owner.casefold()
    with event_store.reading(services.engine) as db:
        back = tuple(
            RepositoryMoved(board_id, now, str(there[then.casefold()]["full_name"]))
            for now, then in placements.list_renamed(db, board_id)
            if now.partition("/")[0].casefold() != owner and then.casefold() in there
        )
    if back:
        record_moved(services.engine, back, at=services.now())


def _refresh_waiting(services: Services, board_id: BoardId) -> None:
    """Request a refresh of cards without a clear repository: it may be in reach by now."""
    with event_store.writing(services.engine) as db:
        for card_id in placements.asking(db, board_id, MAX_ASKED_AGAIN):
            refresh_requests.add(db, card_id, board_id)


def _record(
    services: Services, board_id: BoardId, wrong: Mapping[str, tuple[str, str]], judged: tuple[str, ...]
) -> None:
    """Append the news about the `judged` targets; request a refresh of cards of removed repositories."""
    with event_store.writing(services.engine) as db:
        events = tuple(_news(db, board_id, wrong, judged))
        for event in events:
            if isinstance(event, AccessLost) and event.reason == "removed":
                for card in placements.cards_working_in(
                    db, event.target
                ):  # perhaps renamed: a sync finds its name
                    refresh_requests.add(db, card.card_id, board_id)
        reactor.append_and_react(db, *events, now=services.now())
        if any(isinstance(event, AccessRegained) for event in events):
            outbox.let_go_on(db)
    for event in events:
        log.warning("access changed event=%s", event)


def _news(
    db: Connection, board_id: BoardId, wrong: Mapping[str, tuple[str, str]], judged: tuple[str, ...]
) -> Iterator[Event]:
    known = {loss.target: (loss.reason, loss.detail) for loss in losses.of_board(db, board_id)}
    for target in judged:
        now = wrong.get(target)
        if now is not None and known.get(target) != now:
            yield AccessLost(board_id, target, *now)
        elif now is None and target in known:
            yield AccessRegained(board_id, target)
