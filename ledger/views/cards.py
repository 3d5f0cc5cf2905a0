"""The mirror of every card: where it stands, how it is doing, its pull request and the verdict on it."""

from typing import Any

from sqlalchemy import (
    Connection,
    Index,
    Select,
    Table,
    Update,
    bindparam,
    case,
    func,
    select,
    text,
)

from ledger.db.rows import (
    add,
    change,
    columns,
    fields_for,
    find,
    insert,
    list_rows,
    rename_key,
    rename_values,
    setter,
    value,
)
from ledger.db.statements import WHERE, Statement, statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.board import (
    ABANDONED,
    CardArchived,
    CardArrived,
    CardAssigned,
    CardConverted,
    CardDescribed,
    CardEvent,
    CardExplained,
    CardHeldBack,
    CardMoved,
    CardReplaced,
    CardRestored,
    CardSeen,
    CardStateChanged,
    ColumnRanked,
    ColumnsChanged,
    IssueClosed,
    IssueReopened,
    LabelJudged,
    MoverFound,
)
from ledger.events.branch import BranchRebased, RunChosen
from ledger.events.conversation import AssistantReplied, CommentReleased, PersonSaid
from ledger.events.preference import LimitsChosen, PriorityChosen, PrioritySeen
from ledger.events.pull import PullChanged, PullOpened
from ledger.events.run import BESIDE, BY_PEOPLE, BranchPushed, RunQueued
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.model.spend_limits import value_of
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import NEED, Reason

UNRANKED = 1_000_000  # a card whose place in its column was not read yet stands below all others
_HAS_RUN = text("run_id IS NOT NULL")
IN_LANE = (Reason.MERGE_LANE, Reason.MERGE_TURN)
IS_IN_LANE = text(f"reason IN ({', '.join(repr(reason.value) for reason in IN_LANE)})")  # of a partial index
# What a count of cards in sight asks for; in the inbox, who has them first, too.
_COUNTED = ("board_id", "archived", "state", "reason", "column", "repository", "work_repository", "state_at")

cards = Table(
    "view_cards",
    VIEWS,
    *columns(CardRow, "card_id", long=("body", "brief")),
    # Has all that a list shows, for thousands of whole rows do not fit SQLite's page cache. An index of
    # PostgreSQL takes no long texts.
    Index(
        "view_cards_list",
        *("board_id", "column", "need", "rank", "card_id", "archived"),
        *("repository", "work_repository", "number", "title", "state", "mover", "labels", "assignees"),
    ).ddl_if(dialect="sqlite"),
    Index("view_cards_board", "board_id", "column", "need", "rank", "card_id").ddl_if(dialect="postgresql"),
    Index(
        "view_cards_lanes",
        *_COUNTED,
        *("card_id", "mover", "asked_by", "assignees", "reviewers", "cause", "run_id"),
    ).ddl_if(dialect="sqlite"),
    Index("view_cards_state", *_COUNTED).ddl_if(dialect="postgresql"),
    # What each page asks: the repositories of a board's cards and of their newest runs, since when.
    Index("view_cards_repository", "board_id", "repository", "created_at"),
    Index("view_cards_work", "board_id", "work_repository", "created_at"),
    Index("view_cards_newest", "board_id", "archived", "state_at"),
    Index("view_cards_run", "run_id", info={WHERE: _HAS_RUN}),
    Index("view_cards_issue", "repository", "number"),
    Index("view_cards_content", "content_id"),
    Index("view_cards_pull", "pull_repository", "pull_number"),
    Index(
        "view_cards_lane",
        *("pull_repository", "board_id", "pull_state"),
        info={WHERE: IS_IN_LANE},
    ),
    Index("view_cards_head", "pull_head"),
)
fold = Fold()


def get(db: Connection, card_id: CardId) -> CardRow | None:
    """Return the card; None when it was never seen."""
    return find(db, CardRow, cards, card_id=card_id)


def of_issue(db: Connection, repository: str, number: int) -> tuple[CardRow, ...]:
    """Return the issue's cards, one per board that it is on; those that are archived last."""
    return list_rows(db, CardRow, cards, "archived", "created_at", repository=repository, number=number)


def of_same_issue(card_id: Any) -> Select[Any]:
    """Select the ids of the card and of the same issue's cards on other boards: they work on one branch."""
    own, same = cards.alias("own_card"), cards.alias("same_issue")
    joined = own.join(same, same.c.content_id == own.c.content_id)
    return select(same.c.card_id).select_from(joined).where(own.c.card_id == card_id)


def canonical_name(db: Connection, repository: str) -> str:
    """Return a repository's name as its cards have it: at GitHub, case makes no difference."""
    if value(db, cards.c.repository, repository=repository) is not None:
        return repository
    same = func.lower(cards.c.repository) == repository.lower()  # no index has it
    return db.scalar(select(cards.c.repository).where(same).limit(1)) or repository


def of_pull(db: Connection, repository: str, number: int) -> tuple[CardRow, ...]:
    """Return the cards that deliver by the pull request; those that are archived last.

    Cards of one issue on several boards work on one branch. None where Cardinal did not open it.
    """
    order = ("archived", "created_at")
    return list_rows(db, CardRow, cards, *order, pull_repository=repository, pull_number=number)


def of_head(db: Connection, repository: str, head: str) -> tuple[CardRow, ...]:
    """Return the cards whose open pull request, made by Cardinal, stands at that commit."""
    mine: dict[str, Any] = {"pull_repository": repository, "pull_head": head, "archived": False}
    return list_rows(db, CardRow, cards, "created_at", **mine, pull_state="open")


@fold.on(CardSeen)
def _fold_card_seen(db: Connection, recorded: Recorded, event: CardSeen) -> None:
    described = fields_for(cards, event) | {
        "moved_at": recorded.at,
        "state_at": recorded.at,
        "archived": False,
        "mover": event.by,
        "mover_role": event.role,
        "own_move": event.own,
        "need": NEED.get(event.state, len(NEED)),
    }
    if not change(db, cards, {"card_id": event.card_id}, **described):
        fresh = {"rank": UNRANKED, "reason": Reason.OTHER, "verdict": "none", "created_at": recorded.at}
        insert(db, cards, {**described, **fresh})


@fold.on(CardDescribed)
def _fold_card_described(db: Connection, _recorded: Recorded, event: CardDescribed) -> None:
    _set(db, event, title=event.title, body=event.body, labels=event.labels, expanded=event.expanded)
    card = get(db, event.card_id)
    if card is not None and card.barred:
        _set(db, event, barred=tuple(label for label in card.barred if label in event.labels))


@fold.on(CardAssigned)
def _fold_card_assigned(db: Connection, _recorded: Recorded, event: CardAssigned) -> None:
    _set(db, event, assignees=event.assignees)


@fold.on(LabelJudged)
def _fold_label_judged(db: Connection, _recorded: Recorded, event: LabelJudged) -> None:
    card = get(db, event.card_id)
    if card is not None:
        others = set(card.barred) - {event.label}
        _set(db, event, barred=tuple(sorted(others if event.counts else {*others, event.label})))


@fold.on(CardConverted)
def _fold_card_converted(db: Connection, _recorded: Recorded, event: CardConverted) -> None:
    _set(db, event, content_id=event.content_id, repository=event.repository, number=event.number)
    if event.before:
        there = {"card_id": event.card_id, "pull_repository": event.before}
        change(db, cards, there, pull_repository=event.repository)
        there = {"card_id": event.card_id, "work_repository": event.before}
        change(db, cards, there, work_repository=event.repository)


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    issue = {"content_id": event.content_id, "repository": event.repository, "number": event.number}
    rename_key(db, cards, "card_id", event.draft, event.card_id)
    _set(db, event, **issue)


@fold.on(RepositoryMoved)
def _fold_repository_moved(db: Connection, _recorded: Recorded, event: RepositoryMoved) -> None:
    for name in ("repository", "pull_repository"):
        change(db, cards, {"board_id": event.board_id, name: event.before}, **{name: event.after})


fold.on(IssueClosed)(
    setter(
        cards,
        lambda e: {"closed": e.reason or "completed", "given_up": e.trusted and e.reason in ABANDONED},
        "card_id",
    )
)
fold.on(IssueReopened)(setter(cards, lambda _: {"closed": "", "given_up": False}, "card_id"))


@fold.on(CardMoved)
def _fold_card_moved(db: Connection, recorded: Recorded, event: CardMoved) -> None:
    add(db, cards, {"card_id": event.card_id}, put_back=int(event.by_cardinal))
    mover = {"mover": event.by, "mover_role": event.role, "own_move": event.by_cardinal}
    _set(db, event, column=event.after, rank=UNRANKED, moved_at=recorded.at, **mover)


@fold.on(ColumnsChanged)
def _fold_columns_changed(db: Connection, _recorded: Recorded, event: ColumnsChanged) -> None:
    renamed = {column.before: column.after for column in event.renamed}
    for column, gone in ((cards.c.column, None), (cards.c.held_back, "")):
        now: dict[str, str | None] = {**renamed, **dict.fromkeys(event.removed, gone)}
        condition = (cards.c.board_id == event.board_id) & column.in_(tuple(now))
        if now:
            db.execute(cards.update().where(condition).values({column: rename_values(column, now)}))


_RANK = Statement(cards.update().where(cards.c.card_id == bindparam("of")).values(rank=bindparam("place")))


@fold.on(ColumnRanked)
def _fold_column_ranked(db: Connection, _recorded: Recorded, event: ColumnRanked) -> None:
    if event.order:
        _RANK.run_all(db, [{"of": card_id, "place": place} for place, card_id in enumerate(event.order)])


def _mover(event: CardArrived | MoverFound | CardArchived | CardRestored) -> dict[str, object]:
    return {"mover": event.by, "mover_role": event.role, "own_move": False}


fold.on(CardArrived)(setter(cards, _mover, "card_id"))
fold.on(MoverFound)(setter(cards, _mover, "card_id"))
fold.on(CardArchived)(setter(cards, lambda e: {**_mover(e), "archived": True}, "card_id"))
fold.on(CardRestored)(setter(cards, lambda e: {**_mover(e), "archived": False}, "card_id"))


@fold.on(CardStateChanged)
def _fold_card_state_changed(db: Connection, recorded: Recorded, event: CardStateChanged) -> None:
    now = {"state": event.after, "need": NEED.get(event.after, len(NEED)), "state_at": recorded.at}
    _set(db, event, **now, because=event.because, reason=event.reason)


fold.on(PriorityChosen)(
    setter(cards, lambda e: {"priority": e.priority, "priority_by": e.by if e.priority else ""}, "card_id")
)
fold.on(PrioritySeen)(setter(cards, lambda e: {"priority_field": e.value}, "card_id"))


@fold.on(LimitsChosen)
def _fold_limits_chosen(db: Connection, _recorded: Recorded, event: LimitsChosen) -> None:
    chosen = event.minutes or event.turns or event.usd or event.effort
    limits = {"limit_minutes": event.minutes, "limit_turns": event.turns, "limit_usd": event.usd}
    _set(db, event, **limits, limit_effort=event.effort, limits_by=event.by if chosen else "")


fold.on(CardExplained)(setter(cards, lambda e: {"because": e.because, "reason": e.reason}, "card_id"))
fold.on(CardHeldBack)(setter(cards, lambda e: {"held_back": e.wanted}, "card_id"))


@fold.on(PersonSaid)
def _fold_person_said(db: Connection, _recorded: Recorded, event: PersonSaid) -> None:
    if event.trusted and not event.command:
        _count_comment(db, event)


@fold.on(CommentReleased)
def _fold_comment_released(db: Connection, _recorded: Recorded, event: CommentReleased) -> None:
    _count_comment(db, event)


def _count_comment(db: Connection, event: CommentReleased | PersonSaid) -> None:
    if event.place != "review":  # GitHub counts those apart
        _count.run(db, {"of": event.card_id, "said": event.comment_id})


@statement
def _count(of: Any, said: Any) -> Update:
    newest = case((cards.c.last_said < said, said), else_=cards.c.last_said)
    return cards.update().where(cards.c.card_id == of).values(last_said=newest, assistant_waits=False)


@fold.on(AssistantReplied)
def _fold_assistant_replied(db: Connection, _recorded: Recorded, event: AssistantReplied) -> None:
    given = {"brief": event.brief} if event.brief else {}
    last_said = value(db, cards.c.last_said, card_id=event.card_id) or 0
    waits = not event.brief and last_said <= event.answers
    _set(db, event, last_answered=event.answers, assistant_waits=waits, **given)


@fold.on(RunQueued)
def _fold_run_queued(db: Connection, _recorded: Recorded, event: RunQueued) -> None:
    if event.kind in BESIDE:
        return
    now = {"run_id": event.run_id, "attempts": event.attempt, "branch": event.branch, "put_back": 0}
    change(db, cards, {"card_id": event.card_id}, **now, **show_run_on_card(event), cause="")


def show_run_on_card(run: RunQueued | RunRow) -> dict[str, object]:
    """Return what its card has of its newest run, to be listed, counted and found by."""
    by_person = run.door in BY_PEOPLE and run.by and not run.by.endswith("[bot]")
    named = None if by_person else value_of(run.settings, "reviewers")
    reviewers = tuple(it for it in named if isinstance(it, str)) if isinstance(named, list) else ()
    return {"work_repository": run.repository, "asked_by": run.by, "reviewers": reviewers}


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    pull = {
        "pull_repository": None,
        "pull_number": None,
        "pull_node_id": "",
        "pull_state": "",
        "pull_head": "",
    }
    review = {"verdict": "none", "approved_head": "", "pull_draft": False, "early_start": ""}
    _set(db, event, run_id=event.run_id, branch=event.branch, put_back=0, **pull, **review)


@fold.on(PullOpened)
def _fold_pull_opened(db: Connection, _recorded: Recorded, event: PullOpened) -> None:
    pull = {"pull_repository": event.repository, "pull_number": event.number, "pull_node_id": event.node_id}
    shape = {"pull_state": "open", "pull_draft": event.draft, "pull_head": event.head}
    _set(db, event, **pull, **shape, branch=event.branch)


@fold.on(PullChanged)
def _fold_pull_changed(db: Connection, _recorded: Recorded, event: PullChanged) -> None:
    shape = {"pull_state": event.state, "pull_draft": event.draft, "pull_head": event.head}
    change(db, cards, {"card_id": event.card_id, "pull_number": event.number}, **shape)


@fold.on(BranchPushed)
def _fold_branch_pushed(db: Connection, _recorded: Recorded, event: BranchPushed) -> None:
    mine = {"run_id": event.run_id, "pull_state": "open", "branch": event.branch}
    change(db, cards, mine, pull_head=event.head)
    change(db, cards, {"run_id": event.run_id}, early_start=event.start)


@fold.on(BranchRebased)
def _fold_branch_rebased(db: Connection, _recorded: Recorded, event: BranchRebased) -> None:
    mine = {"card_id": event.card_id, "pull_state": "open", "branch": event.branch}
    change(db, cards, {**mine, "pull_head": event.before}, pull_head=event.after)


def _set(db: Connection, event: CardEvent, **values: object) -> None:
    change(db, cards, {"card_id": event.card_id}, **values)
