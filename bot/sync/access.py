"""Finds out what Cardinal may reach: the installation, its permissions, the repositories of its cards."""

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
from bot.sync import board as known_boards
from ledger.event import Event
from ledger.events.access import AccessLost, AccessRegained, RepositoryMoved
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import cards
from ledger.queue import leases, refresh_requests
from ledger.views import losses, placements

log = logging.getLogger(__name__)

REPOSITORIES_EVERY_S = 600  # where no delivery says that something changed
MAX_PAGES = 20  # of a hundred repositories; beyond, nobody is said to be out of reach
MAX_ASKED_AGAIN = 20  # cards in one go; the others are told by the next change of theirs
INSTALLED = ("uninstalled", "suspended")


def check(services: Services, *, thoroughly: bool) -> bool:
    """Compare what the App may reach with what is known, and append what differs; return whether it works.

    One call as the App; `thoroughly`, and now and then, the repositories are compared as well, and cards
    looked at that wait for one.
    """
    board_id = known_boards.served(services)
    if board_id is None:
        return True  # nothing was ever seen: whoever asks first hears GitHub's own reason
    owner = services.config.board_owner
    found = _installation(services)
    _record(services, board_id, {owner: found} if found else {}, (owner,))
    if found is not None and found[0] in INSTALLED:
        return False
    if thoroughly or _is_due(services):
        _check_repositories(services, board_id)
        _ask_again(services, board_id)
    return True


def _installation(services: Services) -> tuple[str, str] | None:
    """Return reason and detail of what is wrong with the installation; None when nothing is."""
    try:
        found = services.hub.installation()
    except NotFoundError:
        return "uninstalled", ""
    if found.get("suspended_at"):
        return "suspended", ""
    lacking = manifest().lacking(found.get("permissions") or {})
    return ("permissions", ", ".join(lacking)) if lacking else None


def _is_due(services: Services) -> bool:
    with event_store.writing(services.engine) as db:
        return leases.due(db, "access:repositories", now=services.now(), every_s=REPOSITORIES_EVERY_S)


def _check_repositories(services: Services, board_id: BoardId) -> None:
    owner = services.config.board_owner.casefold()
    with event_store.reading(services.engine) as db:
        named = (*cards.repositories_of(db, board_id), *placements.repositories(db, board_id))
    mine = tuple(one for one in named if one.partition("/")[0].casefold() == owner)
    there = {str(one["full_name"]).casefold(): one for one in reachable(services.hub)}
    complete = len(there) < MAX_PAGES * 100
    wrong: dict[str, tuple[str, str]] = {}
    for repository in mine:
        found = there.get(repository.casefold())
        if found is None and complete and not _followed(services, board_id, repository):
            wrong[repository] = ("removed", "")
        elif found is not None and found.get("archived"):
            wrong[repository] = ("archived", "")
    with event_store.reading(
        services.engine
    ) as db:  # of one that no card is in any more, nobody needs to hear
        forgotten = tuple(one.target for one in losses.of_board(db, board_id) if "/" in one.target)
    _record(services, board_id, wrong, tuple(dict.fromkeys((*mine, *forgotten))))
    _take_back(services, board_id, there)


def _followed(services: Services, board_id: BoardId, repository: str) -> bool:
    """Ask GitHub for a repository that the App does not see under that name; append that it was renamed or
    transferred where GitHub leads on to another name.
    """
    now = moved_to(services.hub, repository)
    if now:
        record_moved(services.engine, (RepositoryMoved(board_id, repository, now),), at=services.now())
    return bool(now)


def moved_to(hub: Hub, repository: str) -> str:
    """Return the name to which GitHub leads on; empty where there is no other, or nothing is to be seen."""
    try:
        now, _archived = repositories.look_up(hub, repository)
    except (NotFoundError, RefusedError):
        return ""
    return now if now.casefold() != repository.casefold() else ""


def record_moved(engine: Engine, moved: Sequence[RepositoryMoved], *, at: datetime) -> None:
    """Append that repositories have other names now; their cards and runs follow."""
    with event_store.writing(engine) as db:
        reactor.append(db, *moved, now=at)


def _take_back(services: Services, board_id: BoardId, there: Mapping[str, Mapping[str, Any]]) -> None:
    """Find out that a repository which was given to another owner is back; who has it sends no delivery."""
    owner = services.config.board_owner.casefold()
    with event_store.reading(services.engine) as db:
        back = tuple(
            RepositoryMoved(board_id, now, str(there[then.casefold()]["full_name"]))
            for now, then in placements.moved_on(db, board_id)
            if now.partition("/")[0].casefold() != owner and then.casefold() in there
        )
    if back:
        record_moved(services.engine, back, at=services.now())


def _ask_again(services: Services, board_id: BoardId) -> None:
    """Look at the cards whose repository could not be told: what they name may be in reach by now."""
    with event_store.writing(services.engine) as db:
        for card_id in placements.asking(db, board_id, MAX_ASKED_AGAIN):
            refresh_requests.add(db, card_id, board_id, services.now())


def reachable(hub: Hub) -> Iterator[Mapping[str, Any]]:
    """Yield the repositories of the installation.

    Source: docs.github.com/rest/apps/installations#list-repositories-accessible-to-the-app-installation.
    """
    for page in range(1, MAX_PAGES + 1):
        params = {"per_page": 100, "page": page}
        found = hub.rest("GET", "/installation/repositories", params=params).body["repositories"]
        yield from found
        if len(found) < 100:
            return


def _record(
    services: Services, board_id: BoardId, wrong: Mapping[str, tuple[str, str]], judged: tuple[str, ...]
) -> None:
    """Append what is news about the `judged` targets, in one go; cards of a repository that is gone ring."""
    with event_store.writing(services.engine) as db:
        events = tuple(_news(db, board_id, wrong, judged))
        for event in events:
            if isinstance(event, AccessLost) and event.reason == "removed":
                for card in placements.cards_in(db, event.target):  # renamed unnoticed: a look finds its name
                    refresh_requests.add(db, card.card_id, board_id, services.now())
        reactor.append(db, *events, now=services.now())
    for event in events:
        log.warning("access changed event=%s", event)


def _news(
    db: Connection, board_id: BoardId, wrong: Mapping[str, tuple[str, str]], judged: tuple[str, ...]
) -> Iterator[Event]:
    known = {one.target: (one.reason, one.detail) for one in losses.of_board(db, board_id)}
    for target in judged:
        now = wrong.get(target)
        if now is not None and known.get(target) != now:
            yield AccessLost(board_id, target, *now)
        elif now is None and target in known:
            yield AccessRegained(board_id, target)
