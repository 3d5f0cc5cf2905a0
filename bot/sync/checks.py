"""The checks of a card's pull request read from GitHub, as events."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import checks, repositories, rulesets
from bot.github.api.checks import Check, Light
from bot.reactor import reactor
from bot.render.pull.gate_check import OWN_CHECKS
from bot.state import policies
from ledger.event import Event
from ledger.events.pull import CheckFailure, ChecksAwaited, ChecksSettled
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.log.event_store import EventFactory, no_events
from ledger.queue import leases
from ledger.rows.cards import CardRow
from ledger.rows.ci import CiRow
from ledger.views import boards, cards, ci
from runner.text.plain import redact, tail
from runner.text.untrusted import without_invisible

MAX_FAILURES = 20  # reported of one commit
MAX_LOGS = 5  # job logs that are fetched for one commit
LOG_BYTES = 4_000
NAME_CHARACTERS = 200
MIN_PAUSE_S, MAX_PAUSE_S = 60, 3600  # between two readings without a delivery
# After a push: checks that finish before the pull request is there send no delivery about it.
FIRST_LOOK = timedelta(minutes=2)


def read(services: Services, card: CardRow, *, patient: bool = True) -> EventFactory:
    """Read the checks of the card's pull request; return the events about them.

    Only checks that the default branch requires count, or all if it requires none. With `patient`, red checks
    are reported once all have finished: a part of the failures would start a part of the repair. Raises a
    GithubError.
    """
    repository, head = card.pull_repository or "", card.pull_head
    base_branch = repositories.default_branch(services.hub, repository)
    rules = rulesets.of_branch(services.hub, repository, base_branch)
    required = checks.list_required(services.hub, repository, base_branch, rules)
    by_name = {check.name: check for check in checks.of_commit(services.hub, repository, head)}
    counted = {name: by_name.get(name) for name in sorted(required - OWN_CHECKS or by_name)}
    pending = tuple(
        name[:NAME_CHARACTERS]
        for name, check in counted.items()
        if check is None or check.light is Light.PENDING
    )
    red = tuple(check for check in counted.values() if check is not None and check.light is Light.RED)
    if pending and patient:
        return _await_checks(card.card_id, head, pending)
    failures = (
        _failures(services, repository, red[:MAX_FAILURES]) if red and _is_news(services, card, red) else None
    )
    return _settle_checks(card.card_id, head, failures, pending, is_red=bool(red))


def overdue(services: Services, now: datetime, paused: Collection[BoardId] = ()) -> tuple[CardId, ...]:
    """Return the cards whose checks were never read, or take longer than the policy waits.

    Those of paused boards are left out.
    """
    with event_store.reading(services.engine) as db:
        gone = boards.list_removed(db).union(paused)
        return tuple(row.card_id for row in ci.list_awaited_checks(db) if _is_due(db, row, gone, now))


def read_again(services: Services, card_id: CardId) -> None:
    """Read the checks without a delivery; checks that take too long are reported as they are.

    One reading at a time, less and less often without results. Raises a GithubError.
    """
    with event_store.writing(services.engine) as db:
        card, row = cards.get(db, card_id), ci.of_card(db, card_id)
        if card is None or row is None or card.pull_repository is None or not card.has_open_pull:
            return
        late, waited_s = _is_late(db, row, services.now()), (services.now() - row.since).total_seconds()
        pause_s = min(max(waited_s / 4, MIN_PAUSE_S), MAX_PAUSE_S)
        if not leases.due(db, f"checks:{card_id}", every_s=pause_s):
            return
    on = services.if_served(card.board_id)
    make = read(on, card, patient=not late) if on else no_events
    with event_store.writing(services.engine) as db:
        reactor.append_and_react(db, *make(db), now=services.now())


def _is_due(db: Connection, row: CiRow, gone: frozenset[BoardId], now: datetime) -> bool:
    card = cards.get(db, row.card_id)
    if card is None or card.archived or card.board_id in gone:
        return False
    if card.pull_head != row.head or not card.has_open_pull:
        return False
    return (not row.pending and now - row.since >= FIRST_LOOK) or _is_late(db, row, now)


def _is_late(db: Connection, row: CiRow, now: datetime) -> bool:
    card = cards.get(db, row.card_id)
    if card is None or row.settled:
        return False
    limits = policies.in_force(db, card.board_id).limits
    return now - row.since >= timedelta(minutes=limits.ci_wait_minutes)


def _await_checks(card_id: CardId, head: str, pending: tuple[str, ...]) -> EventFactory:
    def make(db: Connection) -> tuple[Event, ...]:
        known_ci = ci.of_card(db, card_id)
        if _is_elsewhere(db, card_id, head):
            return ()
        if (
            known_ci is not None
            and known_ci.head == head
            and (known_ci.settled or known_ci.pending == pending)
        ):
            return ()
        return (ChecksAwaited(card_id, head, pending),)

    return make


def _settle_checks(
    card_id: CardId,
    head: str,
    failures: tuple[CheckFailure, ...] | None,
    pending: tuple[str, ...],
    *,
    is_red: bool,
) -> EventFactory:
    def make(db: Connection) -> tuple[Event, ...]:
        known_ci = ci.of_card(db, card_id)
        if _is_elsewhere(db, card_id, head) or (is_red and failures is None):
            return ()
        same = known_ci is not None and known_ci.head == head and known_ci.settled
        if same and not is_red and not ci.failures_of(db, card_id, head):
            return ()
        return (ChecksSettled(card_id, head, failures or (), pending),)

    return make


def _is_elsewhere(db: Connection, card_id: CardId, head: str) -> bool:
    """Tell whether the pull request has another head by now."""
    card = cards.get(db, card_id)
    return card is None or card.pull_head != head or not card.has_open_pull


def _is_news(services: Services, card: CardRow, red: tuple[Check, ...]) -> bool:
    """Tell whether other checks are red than those reported for that commit: logs are fetched once."""
    with event_store.reading(services.engine) as db:
        known_ci = ci.of_card(db, card.card_id)
        reported = {failure.name for failure in ci.failures_of(db, card.card_id, card.pull_head)}
    return (
        known_ci is None
        or not known_ci.settled
        or reported != {check.name[:NAME_CHARACTERS] for check in red}
    )


def _failures(services: Services, repository: str, red: tuple[Check, ...]) -> tuple[CheckFailure, ...]:
    base = repositories.head(services.hub, repository)
    base_red = {
        check.name for check in checks.of_commit(services.hub, repository, base) if check.light is Light.RED
    }
    failures, fetched = [], 0
    for check in red:
        said = check.said
        if check.name not in base_red and fetched < MAX_LOGS:
            said, fetched = checks.log_tail(services.hub, repository, check), fetched + 1
        text = tail(redact(without_invisible(said)), LOG_BYTES)
        failures.append(
            CheckFailure(check.name[:NAME_CHARACTERS], check.url[:500], text, check.name in base_red)
        )
    return tuple(failures)
