"""Finds out who moved a card, from its issue's timeline or from deliveries, and with which role."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import repositories, roles
from bot.github.api.project_models import CardLook, StatusChange
from bot.github.errors import NotFoundError
from ledger.events.board import LabelJudged
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import change_reports
from ledger.queue.change_reports import About, Report
from ledger.views import cards
from ledger.views.cards import CardRow
from rules.card.move_rights import may_move
from rules.policy.model import Policy
from rules.snapshot import NOBODY, UNTOLD, Mover

# GitHub's own workflows move cards when an issue is closed or reopened: they act for whoever did that.
AUTOMATION = "github-project-automation[bot]"
KEPT = timedelta(minutes=1)  # reports of a change that a look did not see: GitHub's answers can be older
LATE = timedelta(minutes=10)  # how long after a move its delivery may be missing
CLOCKS_APART = timedelta(seconds=5)  # GitHub's and ours


@dataclass(frozen=True, slots=True)
class Moved:
    """Who changed the card as it was seen, and the reports that say so; `late`: of a move that is known."""

    by: Mover = NOBODY
    late: bool = False
    told: tuple[Report, ...] = ()


def find(services: Services, card_id: CardId, seen: CardLook | None, *, came: bool = False) -> Moved:
    """Return who moved the card, archived it or brought it back; nobody where nothing of it is news.

    `came`: deliveries tell that it came to its column anew.
    """
    with event_store.reading(services.engine) as db:
        known, told = cards.get(db, card_id), change_reports.of_card(db, card_id)
    about = _news(known, seen) or ((About.COLUMN,) if came else None)
    if about is not None:
        mine = tuple(one for one in told if one.about in about)
        by = ""
        if seen is not None and about == (About.COLUMN,):
            by = on_timeline(seen.last_move, seen.column, known.moved_at if known else None)
        by = by or sender(mine, seen.column if seen is not None else None)
        if not by:
            return Moved(unknown(services, seen), told=mine)
        return Moved(_with_role(services, known, seen, told, by), told=mine)
    if known is None or seen is None or known.archived:
        return Moved()
    if known.mover or known.own_move:  # what comes late about a move that was seen
        return Moved(told=tuple(one for one in told if _is_known(one, known)))
    first, last = known.moved_at - LATE, known.moved_at + CLOCKS_APART
    late = tuple(one for one in told if one.about == About.COLUMN and first <= one.at <= last)
    by = on_timeline(seen.last_move, seen.column, first) or sender(late, seen.column)
    mover = _with_role(services, known, seen, told, by)
    return Moved(mover, late=bool(mover.login), told=late)


def _is_known(report: Report, known: CardRow) -> bool:
    if report.about != About.COLUMN:
        return False
    return report.value == known.column or (not report.value and report.sender == known.mover)


def labels(
    services: Services, card_id: CardId, policy: Policy, seen: CardLook | None
) -> tuple[LabelJudged, ...]:
    """Return whose labels may choose and whose may not, as far as deliveries tell it anew."""
    if seen is None or seen.repository is None:
        return ()
    with event_store.reading(services.engine) as db:
        known, told = cards.get(db, card_id), change_reports.of_card(db, card_id)
    newest = {one.value: one.sender for one in told if one.about == About.LABEL and one.value in seen.labels}
    barred, found = known.barred if known is not None else (), []
    for label, by in newest.items():
        role = roles.role(services.hub, seen.repository, by)
        counts = may_move(policy, Mover(by, role, own=by == services.hub.bot_login))
        if counts == (label in barred):
            found.append(LabelJudged(card_id, label, by, role, counts))
    return tuple(found)


def _news(known: CardRow | None, seen: CardLook | None) -> tuple[About, ...] | None:
    """Return what reports about the news are about; None where card and board agree."""
    if seen is None or seen.archived:
        return (About.ARCHIVED,) if known is not None and not known.archived else None
    if known is None:
        return (About.COLUMN,)
    if known.archived:
        return (About.RESTORED, About.COLUMN)
    return (About.COLUMN,) if known.column != seen.column else None


def unknown(services: Services, seen: CardLook | None) -> Mover:
    """Return the mover of whom nothing is known; it is told apart where GitHub tells Cardinal of nobody."""
    personal = seen is not None and seen.personal
    return Mover(role=UNTOLD) if personal or not services.config.webhooks else NOBODY


def on_timeline(move: StatusChange | None, column: str | None, since: datetime | None) -> str:
    """Return who made the newest move on the issue's timeline, if the card shows that move; empty if not.

    GitHub's timeline can be late: a move that is older than `since` (None: any age) is an earlier one.
    """
    if move is None or move.column != column or (since and move.at < since.replace(microsecond=0)):
        return ""
    return move.by


def sender(told: Sequence[Report], column: str | None) -> str:
    """Return whose change the card shows; empty where that is not sure.

    Of reports that name a column the newest decide, by GitHub's whole seconds, if they name this one; what
    names none is a sorting then. Where none names a column, all must be by one person.
    """
    named = [one for one in told if one.about == About.COLUMN and one.value]
    mine = [one for one in named if one.at == named[-1].at and one.value == column] if named else told
    senders = {one.sender for one in mine}
    return senders.pop() if len(senders) == 1 else ""


def _with_role(
    services: Services, known: CardRow | None, seen: CardLook | None, told: Sequence[Report], login: str
) -> Mover:
    """Return the mover with their role; whose workflow it was counts where GitHub's own moved the card."""
    if not login or login == services.hub.bot_login:
        return Mover(own=bool(login))
    if login == AUTOMATION:
        login = _behind(services, seen, told)
    home = services.config.home_repository  # a draft has no repository of its own
    repository = (seen.repository if seen else None) or (known.repository if known else None) or home
    role = roles.role(services.hub, repository, login)
    if seen is None and role == roles.NONE and repository != home and _is_gone(services, repository):
        role = roles.role(services.hub, home, login)  # the card went with its repository
    return Mover(login, role)


def _is_gone(services: Services, repository: str) -> bool:
    try:
        repositories.look_up(services.hub, repository)
    except NotFoundError:
        return True
    return False


def _behind(services: Services, seen: CardLook | None, told: Sequence[Report]) -> str:
    if seen is not None and seen.state == "closed" and seen.repository and seen.number is not None:
        return github_issues.closed_by(services.hub, seen.repository, seen.number) or AUTOMATION
    return sender([one for one in told if one.about == About.REOPENED], None) or AUTOMATION
