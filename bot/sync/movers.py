"""The person who moved a card, by its issue's timeline or by deliveries, and their role."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import repositories, roles
from bot.github.api.project_models import CardReading, StatusChange
from bot.github.errors import BEHIND, NotFoundError
from ledger.events.board import LabelJudged
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import change_reports
from ledger.queue.change_reports import About, Report
from ledger.rows.cards import CardRow
from ledger.views import cards
from rules.card.move_rights import PROJECT_BOT, may_move
from rules.policy.model import Policy
from rules.snapshot import NOBODY, UNTOLD, Mover

KEPT = BEHIND  # of reports without a seen change
LATE = timedelta(minutes=10)  # of a move's delivery
CLOCKS_APART = timedelta(seconds=5)  # GitHub's and ours


@dataclass(frozen=True, slots=True)
class Moved:
    """The person who changed the card, and the reports about it; `late`: for a move that is known."""

    by: Mover = NOBODY
    late: bool = False
    reports: tuple[Report, ...] = ()


def find(
    services: Services, card_id: CardId, seen: CardReading | None, *, came: bool = False, merged: bool = False
) -> Moved:
    """Return who moved, archived or restored the card; nobody without such news.

    `came`: deliveries report that it entered its column again. `merged`: its pull request is known to be.
    """
    with event_store.reading(services.engine) as db:
        known, reports = cards.get(db, card_id), change_reports.of_card(db, card_id)
    about = _news(known, seen) or ((About.COLUMN,) if came else None)
    if about is not None:
        mine = tuple(report for report in reports if report.about in about)
        by = ""
        if seen is not None and about == (About.COLUMN,):
            by = on_timeline(seen.last_move, seen.column, known.moved_at if known else None)
        by = by or sender(mine, seen.column if seen is not None else None)
        if not by:
            return Moved(unknown_mover(services), reports=mine)
        return Moved(_with_role(services, known, seen, by, merged=merged), reports=mine)
    if known is None or seen is None or known.archived:
        return Moved()
    if known.mover or known.own_move:  # late reports about a known move
        return Moved(reports=tuple(report for report in reports if _is_known(report, known)))
    first, last = known.moved_at - LATE, known.moved_at + CLOCKS_APART
    late = tuple(report for report in reports if report.about == About.COLUMN and first <= report.at <= last)
    by = on_timeline(seen.last_move, seen.column, first) or sender(late, seen.column)
    mover = _with_role(services, known, seen, by, merged=merged)
    return Moved(mover, late=bool(mover.login), reports=late)


def _is_known(report: Report, known: CardRow) -> bool:
    if report.about != About.COLUMN:
        return False
    return report.value == known.column or (not report.value and report.sender == known.mover)


def judge_labels(
    services: Services, card_id: CardId, policy: Policy, seen: CardReading | None
) -> tuple[LabelJudged, ...]:
    """Return the labels whose author's right to choose is news, by deliveries."""
    if seen is None or seen.repository is None:
        return ()
    with event_store.reading(services.engine) as db:
        known, reports = cards.get(db, card_id), change_reports.of_card(db, card_id)
    newest = {
        report.value: report.sender
        for report in reports
        if report.about == About.LABEL and report.value in seen.labels
    }
    barred, judged = known.barred if known is not None else (), []
    for label, by in newest.items():
        role = roles.role(services.hub, seen.repository, by)
        counts = may_move(policy, Mover(by, role, own=by == services.hub.bot_login))
        if counts == (label in barred):
            judged.append(LabelJudged(card_id, label, by, role, counts))
    return tuple(judged)


def _news(known: CardRow | None, seen: CardReading | None) -> tuple[About, ...] | None:
    """Return the subjects of reports about the news; None if card and board agree."""
    if seen is None or seen.archived:
        return (About.ARCHIVED,) if known is not None and not known.archived else None
    if known is None:
        return (About.COLUMN,)
    if known.archived:
        return (About.RESTORED, About.COLUMN)
    return (About.COLUMN,) if known.column != seen.column else None


def unknown_mover(services: Services) -> Mover:
    """Return an unknown mover; UNTOLD where GitHub never reports movers."""
    return NOBODY if services.config.webhooks else Mover(role=UNTOLD)


def on_timeline(move: StatusChange | None, column: str | None, since: datetime | None) -> str:
    """Return the author of the timeline's newest move, if it is the card's; else empty.

    GitHub's timeline can be late: a move older than `since` (None: any age) is an earlier one.
    """
    if move is None or move.column != column or (since and move.at < since.replace(microsecond=0)):
        return ""
    return move.by


def sender(reports: Sequence[Report], column: str | None) -> str:
    """Return the sender of the change that the card shows; empty if unsure.

    Among reports that name a column the newest count, by GitHub's whole seconds, if they name this one; the
    others are sortings then. If none names a column, all must be by one person.
    """
    named = [it for it in reports if it.about == About.COLUMN and it.value]
    mine = [it for it in named if it.at == named[-1].at and it.value == column] if named else reports
    senders = {report.sender for report in mine}
    return senders.pop() if len(senders) == 1 else ""


def _with_role(
    services: Services, known: CardRow | None, seen: CardReading | None, login: str, *, merged: bool
) -> Mover:
    """Return the mover with their role; for GitHub's own workflow behind a merge, whoever merged."""
    if not login or login == services.hub.bot_login:
        return Mover(own=bool(login))
    if login == PROJECT_BOT and merged:
        login = _closer(services, seen) or login
    home = services.board.home_repository  # a draft has no repository of its own
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


def _closer(services: Services, seen: CardReading | None) -> str:
    if seen is None or seen.state != "closed" or seen.repository is None or seen.number is None:
        return ""
    return github_issues.find_closer(services.hub, seen.repository, seen.number)
