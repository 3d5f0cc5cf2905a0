"""The ledger as a reader may see it: boards, cards and runs about repositories that they may read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import quote

from sqlalchemy import Engine

from bot.state import served_boards
from bot.state.served_boards import ServedBoard
from bot.system.clock import Clock
from bot.system.config import Config
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.views import cards, runs

RUN = re.compile(r"r[1-9][0-9]{0,17}")


class ReadRights(Protocol):
    """What people may read, as `bot.web.authorization.Readers` says it."""

    def may(self, visit: SignIn, names: frozenset[str], since: datetime) -> bool:
        """Tell whether they may read all of these repositories."""

    def readable(self, visit: SignIn, since: Mapping[str, datetime]) -> frozenset[str]:
        """Return those of the repositories that they may read."""

    def writes(self, visit: SignIn, repository: str) -> bool:
        """Tell whether they may write to the repository."""

    def must_be_able_to_ask(self, visit: SignIn) -> None:
        """Raise BusyError where a further question would."""


@dataclass(frozen=True, slots=True)
class VisibleBoard:
    """A board of which a visitor may see something: cards about the repositories in `seen`.

    `home`: the visitor may read the repository of its policy, and so sees drafts and stops, too.
    """

    board_id: BoardId
    owner: str
    number: int
    title: str
    seen: frozenset[str]
    home: bool

    @property
    def scope(self) -> CardScope:
        """The cards of it that the visitor may see."""
        return CardScope(self.board_id, self.seen, drafts=self.home)

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/boards/{quote(self.owner)}/{self.number}"

    @property
    def policy_path(self) -> str:
        """The path of its policy's page."""
        return f"/policy/{quote(self.owner)}/{self.number}"


@dataclass(frozen=True, slots=True)
class VisibleLedger:
    """A ledger, and what people may read of it."""

    config: Config
    engine: Engine
    clock: Clock
    readers: ReadRights

    def boards_of(self, visit: SignIn) -> tuple[VisibleBoard, ...]:
        """Return the boards of which the visitor may see something. Raises BusyError.

        That takes a repository of the board's owner: a card about another owner's shows nobody the board.
        """
        from rules.snapshot import is_outside  # commands, which see all, do not wait for its rows

        now, since_by_name = self.clock(), dict[str, datetime]()
        with event_store.reading(self.engine) as db:
            served = [
                (board, board.board_id, lanes.repositories(db, board.board_id))
                for board in served_boards.all_served(db, self.config)
                if board.board_id
            ]
        for board, _, repositories in served:
            for name, since in {board.home_repository: now, **repositories}.items():
                since_by_name[name] = min(since, since_by_name.get(name, since))
        readable = self.readers.readable(visit, since_by_name)
        known = (
            VisibleBoard(
                board_id=board_id,
                owner=board.owner,
                number=board.number,
                title=board.title,
                seen=seen,
                home=board.home_repository in readable,
            )
            for board, board_id, repositories in served
            for seen in (readable.intersection(repositories),)
        )
        return tuple(it for it in known if it.home or not all(is_outside(name, it.owner) for name in it.seen))

    def whole_to(self, visit: SignIn) -> tuple[VisibleBoard, ...]:
        """Return the boards of whose cards and runs, past ones too, the visitor may read every repository.

        Of them alone sums and recorded texts may be shown as they are. Raises BusyError.
        """
        return tuple(board for board in self.boards_of(visit) if self.is_whole_to(visit, board))

    def list_operated_boards(self, visit: SignIn) -> tuple[ServedBoard, ...]:
        """Return the boards whose policy the visitor may write. Raises BusyError."""
        with event_store.reading(self.engine) as db:
            served = served_boards.all_served(db, self.config)
        return tuple(board for board in served if self.readers.writes(visit, board.home_repository))

    def find_board(self, visit: SignIn, owner: str, number: int) -> VisibleBoard | None:
        """Return the board; None where the visitor may see nothing of it. Raises BusyError."""
        named = (owner.casefold(), number)
        boards = self.boards_of(visit)
        return next((board for board in boards if (board.owner.casefold(), board.number) == named), None)

    def is_whole_to(self, visit: SignIn, board: VisibleBoard) -> bool:
        """Tell whether `whole_to` has the board. Raises BusyError."""
        if not board.home:
            return False
        with event_store.reading(self.engine) as db:
            ever = lanes.repositories_ever(db, board.board_id)
        return self.readers.readable(visit, ever) >= ever.keys()


def run_visible(site: VisibleLedger, visit: SignIn, run: str) -> tuple[RunRow, CardRow] | None:
    """Return the run and its card; None if it is unknown or the visitor may not see it. Raises BusyError.

    The visitor must be able to read the repository of the work and that of the issue.
    """
    if not RUN.fullmatch(run):
        return None
    with event_store.reading(site.engine) as db:
        known = runs.get(db, RunId(run))
        card = cards.get(db, known.card_id) if known is not None else None
    if known is None or card is None:
        return None
    about = frozenset(filter(None, (known.repository, card.repository)))
    return (known, card) if site.readers.may(visit, about, known.queued_at) else None


def may_see(site: VisibleLedger, visit: SignIn, card: CardRow) -> bool:
    """Tell whether the visitor may read the card's repository and those of all its runs. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        worked_in = runs.list_hosts_of_card(db, card.card_id)
    names = frozenset(filter(None, (card.repository, *worked_in)))
    return site.readers.may(visit, names, card.created_at)


def find_visible_card(
    site: VisibleLedger, visit: SignIn, repository: str, number: int, card_id: str = ""
) -> CardRow | None:
    """Return the card of that id, else the first of the issue, an archived one last; None if the visitor may
    see none. Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        known = cards.of_issue(db, cards.canonical_name(db, repository), number)
    return next(
        (card for card in known if card_id in ("", card.card_id) and may_see(site, visit, card)), None
    )


def path_of(repository: str | None, number: int | None, card_id: CardId) -> str:
    """Return the path of a card's page; empty for a draft.

    An issue on several boards has as many cards: the id says which.
    """
    return f"/cards/{quote(repository)}/{number}/{quote(card_id)}" if repository and number else ""
