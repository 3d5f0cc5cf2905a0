"""The repository that a card of the board's home is about, and whether Cardinal can work there."""

from dataclasses import replace

from bot.bootstrap import Services
from bot.github.api import repositories, roles
from bot.github.api.project_models import CardReading
from bot.github.errors import NotFoundError, RefusedError
from bot.state import policies
from bot.sync import movers
from ledger.events.placement import RepositoryResolved
from ledger.log import event_store
from ledger.queue import change_reports
from ledger.rows.placements import PlacementRow
from ledger.views import cards, jobs, placements
from rules.card import target_repository
from rules.card.move_rights import may_move
from rules.card.target_repository import Hints
from rules.policy.model import Policy
from rules.snapshot import Mover
from runner.text.visible import strip_hidden


def decide_target(services: Services, reading: CardReading | None) -> RepositoryResolved | None:
    """Return the decision if it is news; None for a card that can only be about its own repository."""
    if reading is None or reading.kind != "Issue" or reading.archived or reading.repository is None:
        return None
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, reading.board_id)
        placement, card = placements.get(db, reading.card_id), cards.get(db, reading.card_id)
        # Where Cardinal made the issue, of a draft or for a program, GitHub names Cardinal as its author.
        named = card.author if card is not None else reading.author
        author = jobs.author_of(db, reading.card_id, named)
    shared = target_repository.is_shared(policy, reading.repository)
    if not shared and placement is None:
        return None
    placed = RepositoryResolved(reading.card_id, reading.repository, "own", reading.repository, "")
    if shared:
        placed = target_repository.resolve_target(policy, _hints(services, reading, author))
    if placement is not None and _is_kept(placement, placed):
        return None  # later changes of that repository are `access`'s part: renamed, archived, out of reach
    placed = _by_field(services, policy, placement, reading, placed)
    placed = _by_author(services, reading, _by_access(services, placed), author) if shared else placed
    was = placement and RepositoryResolved(
        reading.card_id, placement.repository, placement.rule, placement.value, placement.problem
    )
    return None if placed == was else placed


def _is_kept(placement: PlacementRow, placed: RepositoryResolved) -> bool:
    """Tell whether the card names the same repository as at the last decision."""
    same = (placement.rule, placement.value) == (placed.rule, placed.value) and not (
        placement.problem or placed.problem
    )
    return same and placement.named.casefold() == placed.repository.casefold()


def _hints(services: Services, reading: CardReading, author: str) -> Hints:
    lines = target_repository.lines_of(strip_hidden(reading.body))
    # The author's role is read only if the description names something.
    trusted = bool(lines) and roles.writes(services.hub, reading.repository or "", author)
    return Hints(
        card_id=reading.card_id,
        labels=reading.labels,
        lines=lines,
        field=reading.repo_field,
        author=author,
        trusted=trusted,
    )


def _by_field(
    services: Services,
    policy: Policy,
    placement: PlacementRow | None,
    reading: CardReading,
    placed: RepositoryResolved,
) -> RepositoryResolved:
    """Return the decision, or a question if the person who set the field or label may not move cards.

    The author of a label older than its card is unknown; GitHub allows only triagers to set one.
    """
    if placed.rule not in ("field", "label"):
        return placed
    by = _setter(services, reading, placed)
    if not by and placement is not None and (placement.rule, placement.value) == (placed.rule, placed.value):
        return replace(placed, repository="", problem=placement.problem) if placement.problem else placed
    if not by and placed.rule == "label":
        return placed
    known_as = Mover(by, roles.role(services.hub, reading.repository or "", by))
    who = known_as if by else movers.unknown_mover(services)
    return placed if may_move(policy, who) else target_repository.unchosen(placed, by)


def _setter(services: Services, reading: CardReading, placed: RepositoryResolved) -> str:
    """Return the person who set the field or label, by deliveries; empty if unsure."""
    with event_store.reading(services.engine) as db:
        reports = change_reports.of_card(db, reading.card_id)
    named = ("", target_repository.FIELD) if placed.rule == "field" else (placed.value,)
    own_reports = [report for report in reports if report.about == placed.rule and report.value in named]
    senders = {report.sender for report in own_reports if report.at == own_reports[-1].at}
    return senders.pop() if len(senders) == 1 else ""


def _by_author(
    services: Services, reading: CardReading, placed: RepositoryResolved, author: str
) -> RepositoryResolved:
    """Return the decision, or a question if the author of the line or field may not write to that repository:
    a run publishes content of that repository in the home's issue.
    """
    if placed.rule not in ("line", "field") or not placed.repository:
        return placed
    by = author if placed.rule == "line" else _setter(services, reading, placed)
    unknown = placed.rule == "field" and not by  # it was judged when it was set
    if unknown or roles.writes(services.hub, placed.repository, by):
        return placed
    if placed.rule == "field":
        return target_repository.unchosen(placed, by, "has no write access there")
    why = "where its author has no write access: an owner gives it there, or name another one"
    return target_repository.unreachable(placed, why)


def _by_access(services: Services, placed: RepositoryResolved) -> RepositoryResolved:
    """Return the decision, or a question if Cardinal cannot work in that repository."""
    if not placed.repository:
        return placed
    why = "where Cardinal is not installed: an owner adds it there, or name another one"
    if placed.repository.partition("/")[0].casefold() != services.board.owner.casefold():
        # it may be public, but Cardinal is not installed there
        return target_repository.unreachable(placed, why)
    try:
        name, archived = repositories.look_up(services.hub, placed.repository)
    except (NotFoundError, RefusedError):
        return target_repository.unreachable(placed, why)
    if archived:
        return target_repository.unreachable(placed, "which is archived: name another one")
    return replace(placed, repository=name)  # deliveries use this name
