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
from ledger.queue.change_reports import About, ChangeReport
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
    reports: tuple[ChangeReport, ...] = ()


def find(
    services: Services,
    card_id: CardId,
    reading: CardReading | None,
    *,
    came: bool = False,
    merged: bool = False,
) -> Moved:
    """Return who moved, archived or restored the card; nobody without such news.

    `came`: deliveries report that it entered its column again. `merged`: its pull request is known to be.
    """
    with event_store.reading(services.engine) as db:
        card, reports = cards.get(db, card_id), change_reports.of_card(db, card_id)
    about = _news(card, reading) or ((About.COLUMN,) if came else None)
    if about is not None:
        own_reports = tuple(report for report in reports if report.about in about)
        by = ""
        if reading is not None and about == (About.COLUMN,):
            by = on_timeline(reading.last_move, reading.column, _moved_at(services, card) if card else None)
        by = by or sender(own_reports, reading.column if reading is not None else None)
        if not by:
            return Moved(unknown_mover(services), reports=own_reports)
        return Moved(_with_role(services, card, reading, by, merged=merged), reports=own_reports)
    if card is None or reading is None or card.archived:
        return Moved()
    if card.mover or card.own_move:  # late reports about a known move
        return Moved(reports=tuple(report for report in reports if _is_known(report, card)))
    moved_at = _moved_at(services, card)
    first, last = moved_at - LATE, moved_at + CLOCKS_APART
    late = tuple(report for report in reports if report.about == About.COLUMN and first <= report.at <= last)
    by = on_timeline(reading.last_move, reading.column, first) or sender(late, reading.column)
    mover = _with_role(services, card, reading, by, merged=merged)
    return Moved(mover, late=bool(mover.login), reports=late)


def _moved_at(services: Services, card: CardRow) -> datetime:
    """Return when the card was moved, by GitHub's clock."""
    return services.hub.theirs(card.moved_at, services.now())


def _is_known(report: ChangeReport, card: CardRow) -> bool:
    if report.about != About.COLUMN:
        return False
    return report.value == card.column or (not report.value and report.sender == card.mover)


def judge_labels(
    services: Services, card_id: CardId, policy: Policy, reading: CardReading | None
) -> tuple[LabelJudged, ...]:
    """Return the labels whose author's right to choose is news, by deliveries."""
    if reading is None or reading.repository is None:
        return ()
    with event_store.reading(services.engine) as db:
        card, reports = cards.get(db, card_id), change_reports.of_card(db, card_id)
    newest = {
        report.value: report.sender
        for report in reports
        if report.about == About.LABEL and report.value in reading.labels
    }
    barred, judged = card.barred if card is not None else (), []
    for label, by in newest.items():
        role = roles.role(services.hub, reading.repository, by)
        counts = may_move(policy, Mover(by, role, own=by == services.hub.bot_login))
        if counts == (label in barred):
            judged.append(LabelJudged(card_id, label, by, role, counts))
    return tuple(judged)


def _news(card: CardRow | None, reading: CardReading | None) -> tuple[About, ...] | None:
    """Return the subjects of reports about the news; None if card and board agree."""
    if reading is None or reading.archived:
        return (About.ARCHIVED,) if card is not None and not card.archived else None
    if card is None:
        return (About.COLUMN,)
    if card.archived:
        return (About.RESTORED, About.COLUMN)
    return (About.COLUMN,) if card.column != reading.column else None


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


def sender(reports: Sequence[ChangeReport], column: str | None) -> str:
    """Return the sender of the change that the card shows; empty if unsure.

    Among reports that name a column the newest count, by GitHub's whole seconds, if they name this one; the
    others are sortings then. If none names a column, all must be by one person.
    """
    named = [report for report in reports if report.about == About.COLUMN and report.value]
    own_reports = (
        [report for report in named if report.at == named[-1].at and report.value == column]
        if named
        else reports
    )
    senders = {report.sender for report in own_reports}
    return senders.pop() if len(senders) == 1 else ""


def _with_role(
    services: Services, card: CardRow | None, reading: CardReading | None, login: str, *, merged: bool
) -> Mover:
    """Return the mover with their role; for GitHub's own workflow behind a merge, whoever merged."""
    if not login or login == services.hub.bot_login:
        return Mover(own=bool(login))
    if login == PROJECT_BOT and merged:
        login = _closer(services, reading) or login
    home = services.board.home_repository  # a draft has no repository of its own
    repository = (reading.repository if reading else None) or (card.repository if card else None) or home
    role = roles.role(services.hub, repository, login)
    if reading is None and role == roles.NONE and repository != home and _is_gone(services, repository):
        role = roles.role(services.hub, home, login)  # the card went with its repository
    return Mover(login, role)


def _is_gone(services: Services, repository: str) -> bool:
    try:
        repositories.look_up(services.hub, repository)
    except NotFoundError:
        return True
    return False


def _closer(services: Services, reading: CardReading | None) -> str:
    if reading is None or reading.state != "closed" or reading.repository is None or reading.number is None:
        return ""
    return github_issues.find_closer(services.hub, reading.repository, reading.number)
