"""The issues that block a card, their state, and the issue that the card is a part of."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Index,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    or_,
    select,
)

from ledger.db.rows import (
    all_rows,
    change,
    columns,
    drop,
    find,
    insert,
    keep,
    list_rows,
    pick,
    value,
    values,
)
from ledger.db.statements import Statement, statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.board import CardConverted, CardStateChanged, IssueClosed, IssueReopened
from ledger.events.related import LinksSeen
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows.cards import CardRow
from ledger.rows.limit_answers import Code
from ledger.rows.links import LinkRow
from ledger.states import CardState, RunState
from ledger.views import cards as known_cards
from ledger.views.cards import cards
from ledger.views.questions import questions
from ledger.views.runs import runs

MAX_WALKED = 1000  # issues that are looked at for a circle
SIZES = 1, 10, 100  # of them in one query
MAX_PARTS = 100  # of one issue, as many as GitHub allows
MAX_HIDDEN = 50  # blockers out of sight: as many as GitHub allows in all
IssueRef = tuple[str, int]
Step = tuple[str, int, bool]  # `public` at the end, as in LinkRow


@dataclass(frozen=True, slots=True)
class ParentRow:
    """The issue that the card's issue is a part of."""

    card_id: CardId
    repository: str
    number: int
    public: bool


links = Table(
    "view_links",
    VIEWS,
    *columns(LinkRow, "card_id", "repository", "number"),
    Index("view_links_issue", "repository", "number"),
)
parents = Table(
    "view_link_parents",
    VIEWS,
    *columns(ParentRow, "card_id"),
    Index("view_link_parents_issue", "repository", "number"),
)
fold = Fold()


def of_card(db: Connection, card_id: CardId) -> tuple[LinkRow, ...]:
    """Return the blockers of the card's issue, in the order of names."""
    return list_rows(db, LinkRow, links, "repository", "number", card_id=card_id)


def parent_of(db: Connection, card_id: CardId) -> ParentRow | None:
    """Return the issue that the card's issue is a part of, or None."""
    return find(db, ParentRow, parents, card_id=card_id)


def issue_ref_of(issue: str) -> IssueRef | None:
    """Return the place of owner/repository#number; None for any other text."""
    repository, _, number = issue.rpartition("#")
    return (repository, int(number[:18])) if repository and number.isdecimal() else None


def parts_of(db: Connection, repository: str | None, number: int | None, limit: int) -> tuple[CardRow, ...]:
    """Return the cards whose issues are parts of the issue, in the order of numbers."""
    return all_rows(db, CardRow, _parts_of, repository=repository, number=number, most=limit)


@statement
def _parts_of(repository: Any, number: Any, most: Any) -> Select[Any]:
    mine = (parents.c.repository == repository) & (parents.c.number == number)
    query = pick(CardRow, cards).join(parents, parents.c.card_id == cards.c.card_id).where(mine)
    return query.order_by(cards.c.number, cards.c.card_id).limit(most)


def parts_to_do(db: Connection, repository: str | None, number: int | None) -> tuple[CardRow, ...]:
    """Return the cards of those parts of the issue that a card which waits for its parts has to wait for."""
    return all_rows(db, CardRow, _parts_to_do, repository=repository, number=number)


def has_parts_to_do(card_id: ColumnElement[str]) -> ColumnElement[bool]:
    whole, part = cards.alias("whole"), cards.alias("part")
    condition = and_(parents.c.repository == whole.c.repository, parents.c.number == whole.c.number)
    joined = whole.join(parents, condition).join(part, part.c.card_id == parents.c.card_id)
    return exists().select_from(joined).where(whole.c.card_id == card_id, _to_do(part))


def waits_by_policy() -> ColumnElement[bool]:
    """Return the condition that a queued run has to wait for sub-issues; one that began does not."""
    return and_(runs.c.waits_for_parts, runs.c.claimed_at.is_(None))


def _to_do(part: FromClause) -> ColumnElement[bool]:
    """Return the condition that a part is not done, and that nobody said to go on without its newest run."""
    waived = exists().where(questions.c.part == part.c.run_id, questions.c.code == Code.WITHOUT_PART)
    return and_(part.c.closed == "", part.c.state != CardState.DONE, ~part.c.archived, ~waived)


@statement
def _parts_to_do(repository: Any, number: Any) -> Select[Any]:
    mine = (parents.c.repository == repository) & (parents.c.number == number)
    query = pick(CardRow, cards).join(parents, parents.c.card_id == cards.c.card_id)
    return query.where(mine, _to_do(cards)).order_by(cards.c.number, cards.c.card_id).limit(MAX_PARTS)


def dependents(db: Connection, repository: str, number: int, limit: int) -> tuple[CardId, ...]:
    """Return cards that are blocked by the issue, whether they still wait for it or not."""
    return values(db, links.c.card_id, "card_id", limit=limit, repository=repository, number=number)


def select_held_cards() -> Select[tuple[str]]:
    return select(links.c.card_id).where(_holds())


def circle(db: Connection, card_id: CardId) -> tuple[LinkRow, ...]:
    """Return the way on which the card waits for itself, from its issue to its issue; empty if there is none.

    Only dependencies in the ledger are walked, over MAX_WALKED issues at most.
    """
    card = known_cards.get(db, card_id)
    if card is None or card.repository is None or card.number is None:
        return ()
    home: IssueRef = (card.repository, card.number)
    return tuple(
        LinkRow(card_id, repository, number, "", "open", done=False, public=public)
        for repository, number, public in _walk(db, home, home)
    )


def waits_for(db: Connection, place: IssueRef, other: IssueRef) -> bool:
    """Tell whether the issue is the other one or waits for it, be it by way of others."""
    return place == other or bool(_walk(db, place, other))


def _walk(db: Connection, home: IssueRef, goal: IssueRef) -> tuple[Step, ...]:
    """Return the way on which the issue `home` waits for `goal`; empty if there is none."""
    came_from: dict[IssueRef, IssueRef] = {}
    public: dict[IssueRef, bool] = {}
    frontier: list[IssueRef] = [home]
    while frontier and len(came_from) < MAX_WALKED:
        reached: list[IssueRef] = []
        for before, after, public[after] in _steps(db, frontier):
            if after == goal:
                way = (*_way(came_from, home, before), goal)
                return tuple((*issue_ref, public.get(issue_ref, False)) for issue_ref in way)
            if after not in came_from:
                came_from[after] = before
                reached.append(after)
        frontier = reached
    return ()


def _way(came_from: dict[IssueRef, IssueRef], home: IssueRef, last: IssueRef) -> tuple[IssueRef, ...]:
    way = [last]
    while way[-1] != home:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def _steps(db: Connection, frontier: list[IssueRef]) -> Iterable[tuple[IssueRef, IssueRef, bool]]:
    """Yield which issue waits for which, of the issues of the frontier that have a card; is that public?

    An issue waits for its blockers, and with a queued run that says so for its sub-issues.
    """
    for start in range(0, len(frontier), SIZES[-1]):
        some = frontier[start : start + SIZES[-1]]
        count = next(size for size in SIZES if size >= len(some))
        some += some[-1:] * (count - len(some))  # a statement for each number would be too many
        of_links, of_parts = _step_queries(count)
        places: dict[str, str | int] = {}
        for at, (repository, number) in enumerate(some):
            places |= {f"repository_{at}": repository, f"number_{at}": number}
        for row in of_links.all(db, places):
            yield (row[0], row[1]), (row[2], row[3]), row[4]
        for row in of_parts.all(db, places):
            yield (row[0], row[1]), (row[2], row[3]), False


@cache
def _step_queries(count: int) -> tuple[Statement, Statement]:
    """Select which issues wait for which, of so many places: for blockers, and for sub-issues."""
    home = (cards.c.repository, cards.c.number)
    names = ((f"repository_{at}", f"number_{at}") for at in range(count))
    some = or_(*(and_(home[0] == bindparam(a), home[1] == bindparam(b)) for a, b in names))
    of_links = select(*home, links.c.repository, links.c.number, links.c.public)
    of_links = of_links.join(links, links.c.card_id == cards.c.card_id).where(some, _holds())
    part = cards.alias("part")
    condition = and_(parents.c.repository == cards.c.repository, parents.c.number == cards.c.number)
    joined = cards.join(runs, runs.c.run_id == cards.c.run_id).join(parents, condition)
    joined = joined.join(part, part.c.card_id == parents.c.card_id)
    waits = and_(runs.c.state == RunState.QUEUED, waits_by_policy(), _to_do(part))
    of_parts = select(*home, part.c.repository, part.c.number).select_from(joined).where(some, waits)
    return (
        Statement(of_links.order_by(*of_links.selected_columns)),
        Statement(of_parts.order_by(*of_parts.selected_columns)),
    )


def _holds() -> ColumnElement[bool]:
    return ~((links.c.state == "completed") | ((links.c.state == "open") & links.c.done))


@fold.on(LinksSeen)
def _fold_links_seen(db: Connection, _recorded: Recorded, event: LinksSeen) -> None:
    drop(db, links, card_id=event.card_id)
    rows = {(issue.repository, issue.number): asdict(issue) for issue in event.blocked_by}
    unseen = {"repository": "", "title": "", "state": "open"}
    rows |= {("", -n): {**unseen, "number": -n} for n in range(1, min(event.hidden, MAX_HIDDEN) + 1)}
    for row in rows.values():
        done = _is_done(db, row["repository"], row["number"])
        public = row["repository"] in event.public
        insert(db, links, {"card_id": event.card_id, "done": done, "public": public, **row})
    drop(db, parents, card_id=event.card_id)
    if (issue_ref := issue_ref_of(event.parent)) is not None:
        above = {"repository": issue_ref[0], "number": issue_ref[1], "public": issue_ref[0] in event.public}
        keep(db, parents, {"card_id": event.card_id}, above)


def _is_done(db: Connection, repository: str | int, number: str | int) -> bool:
    mine = {"repository": repository, "number": number, "state": CardState.DONE}
    return value(db, cards.c.card_id, **mine) is not None


@fold.on(CardStateChanged)
def _fold_card_state_changed(db: Connection, _recorded: Recorded, event: CardStateChanged) -> None:
    if event.after is CardState.DONE:
        _update(db, event.card_id, done=True)
    elif event.before is CardState.DONE and event.after is not CardState.ARCHIVED:
        _update(db, event.card_id, done=False)


@fold.on(IssueClosed)
def _fold_issue_closed(db: Connection, _recorded: Recorded, event: IssueClosed) -> None:
    _update(db, event.card_id, state=event.reason or "completed")


@fold.on(IssueReopened)
def _fold_issue_reopened(db: Connection, _recorded: Recorded, event: IssueReopened) -> None:
    _update(db, event.card_id, state="open")


@fold.on(RepositoryMoved)
def _fold_repository_moved(db: Connection, _recorded: Recorded, event: RepositoryMoved) -> None:
    _carry(db, {"repository": event.before}, repository=event.after)


@fold.on(CardConverted)
def _fold_card_converted(db: Connection, _recorded: Recorded, event: CardConverted) -> None:
    if (was := issue_ref_of(event.place_before)) is not None:
        before = {"repository": was[0], "number": was[1]}
        _carry(db, before, repository=event.repository, number=event.number)


def _carry(db: Connection, before: dict[str, Any], **after: str | int) -> None:
    """Let who waits for issues that stood there, or is a part of them, do so where they stand now."""
    moved = list_rows(db, LinkRow, links, **before)
    drop(db, links, **before)
    for row in moved:  # another repository may have got a name that was free
        place = {"card_id": row.card_id, "repository": row.repository, "number": row.number, **after}
        keep(db, links, place, {name: getattr(row, name) for name in ("title", "state", "done", "public")})
    change(db, parents, before, **after)


def _update(db: Connection, card_id: CardId, **values: object) -> None:
    """Update the card's issue wherever another card waits for it."""
    card = known_cards.get(db, card_id)
    if card is not None and card.repository is not None:
        change(db, links, {"repository": card.repository, "number": card.number}, **values)
