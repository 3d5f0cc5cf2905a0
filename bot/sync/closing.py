"""The closing of a card's issue: who closed it, and whether the card's own pull request was merged."""

from dataclasses import dataclass

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import pulls, roles
from bot.github.api.project_models import CardLook
from bot.github.errors import NotFoundError
from bot.state import policies
from ledger.event import Event
from ledger.events.board import IssueClosed
from ledger.events.pull import PullChanged
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.views import cards
from rules.card.move_rights import may_move
from rules.snapshot import Mover


@dataclass(frozen=True, slots=True)
class Closing:
    """The news about a closed issue. `merged`: its card's pull request is."""

    merged: bool = False
    events: tuple[Event, ...] = ()


def find_closing(services: Services, seen: CardLook | None) -> Closing:
    """Return the issue's closing, if it is news, and its author: only a trusted one gives work up.

    A merge closes the issue, and the delivery about the merge may be late: so the pull request is read.
    """
    if seen is None or seen.state != "closed" or seen.archived or seen.kind != "Issue":
        return Closing()
    with event_store.reading(services.engine) as db:
        known, policy = cards.get(db, seen.card_id), policies.in_force(db, seen.board_id)
    reason = seen.state_reason or "completed"
    if known is None or seen.repository is None or seen.number is None:
        return Closing(events=(IssueClosed(seen.card_id, reason, ""),))
    if known.closed == reason:
        return Closing(known.pull_state == "merged")
    by = github_issues.closed_by(services.hub, seen.repository, seen.number)
    trusted = bool(by) and may_move(policy, Mover(by, roles.role(services.hub, seen.repository, by)))
    changed = _pull_changed(services, known)
    merged = "merged" in (known.pull_state, changed.state if changed else "")
    news = (changed,) if changed else ()
    return Closing(merged, (*news, IssueClosed(seen.card_id, reason, by, trusted)))


def _pull_changed(services: Services, known: CardRow) -> PullChanged | None:
    if known.pull_repository is None or known.pull_number is None or known.pull_state != "open":
        return None
    try:
        now = pulls.read(services.hub, known.pull_repository, known.pull_number)
    except NotFoundError:
        return None
    if now.state == "open":
        return None  # its draft and its head are told by deliveries of their own
    return PullChanged(known.card_id, now.number, now.state, now.draft, now.head)
