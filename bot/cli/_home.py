"""Settings and ledger of this home for commands; cards and runs by the names that people use.

Reads wait for every import: the rarer ones are where they are used.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, make_url

from bot.cli._names import ISSUE, UnlistedNameError
from bot.system import config as configuration
from bot.system import lock_file, program
from bot.system.config import Config
from ledger.errors import CardinalError, OlderLedgerError
from ledger.ids import CardId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import hosts
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.views import boards, cards, runs
from ledger.views.boards import BoardRow

if TYPE_CHECKING:
    from bot.web.api.operation import ApiModel, ApiRequest


class NoLedgerError(CardinalError):
    """There is no ledger in this home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        super().__init__(
            f"no ledger in {home}: change to the folder where Cardinal was started, or set CARDINAL_HOME"
        )


class SharedNameError(CardinalError):
    """Several cards have that name, one per board."""

    def __init__(self, name: str, sharing: tuple[CardRow, ...]) -> None:
        self.name, self.sharing = name, sharing
        cards_there = ", ".join(f"{card.card_id} (board {card.board_id})" for card in sharing)
        super().__init__(f"{name} is on several boards: give the card's id instead, one of {cards_there}")


def settings() -> Config:
    """Return this home's settings. Raises ConfigError."""
    return configuration.read(os.environ, Path.cwd())


def absence() -> str:
    """Return a sentence where neither the program of this home nor a host elsewhere shows signs of life."""
    config = settings()
    if lock_file.read_presence(config.home) is not None:
        return ""
    with open_for_reading() as db:
        known_hosts = hosts.list_hosts(db)
    if any(map(known_hosts.is_alive, known_hosts.rows)):
        return ""
    up = program.of_home(config.home)
    return f"`{up}` is not running in {config.home}: nothing happens until you start it"


def open_engine(config: Config) -> Engine:
    """Return the ledger as it is, without bringing it up to date. Raises NoLedgerError, OlderLedgerError."""
    require_ledger(config)
    try:
        return open_ledger(config.database_url, migrate=False)
    except OlderLedgerError as error:
        up = program.of_home(config.home)
        raise OlderLedgerError(error.actual, error.known, error.progress, up) from error


def require_ledger(config: Config) -> None:
    """Raise NoLedgerError where there is none."""
    url = make_url(config.database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise NoLedgerError(config.home)


@contextmanager
def ledger_opened() -> Iterator[Engine]:
    """Yield this home's ledger as `open_engine` does, and close it in the end."""
    engine = open_engine(settings())
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def open_for_reading() -> Iterator[Connection]:
    """Yield a connection that reads the ledger at one moment."""
    with ledger_opened() as engine, event_store.reading(engine) as db:
        yield db


@contextmanager
def open_request() -> "Iterator[ApiRequest]":
    """Yield a request to the API's operations, which run in this process on this home's ledger."""
    from bot.web.api import in_process

    with ledger_opened() as engine:
        yield in_process.operators_request(settings(), engine)


def run_operation(operation: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of an operation of the API that only reads; no field counts that is None."""
    from bot.web.api.operation import check_fields

    with open_request() as request:
        given = {name: value for name, value in fields.items() if value is not None}
        answer: ApiModel = operation.run(request, check_fields(operation.Input, given))
    return answer.model_dump(mode="json")


@contextmanager
def open_for_writing() -> Iterator[Connection]:
    """Yield a connection that writes to the ledger in one transaction."""
    with ledger_opened() as engine, event_store.writing(engine) as db:
        yield db


def read_blob(digest: str) -> bytes | None:
    """Return a file of the store; None for a missing or damaged one. Raises StoreError."""
    from bot.runspec.host_paths import open_host_store

    with ledger_opened() as engine:
        return open_host_store(settings(), engine).read(digest)


def find_card(db: Connection, name: str) -> CardRow:
    """Return the card of `owner/repository#number`, or with that card id.

    Raises UnlistedNameError, and SharedNameError where cards of several boards are not archived.
    """
    issue = ISSUE.fullmatch(name)
    if issue is None:
        row = cards.get(db, CardId(name))
    else:
        issue_ref = cards.canonical_name(db, issue["repository"]), int(issue["number"])
        known_cards = cards.of_issue(db, *issue_ref) or cards.of_pull(db, *issue_ref)
        live = tuple(card for card in known_cards if not card.archived)
        if len(live) > 1:
            raise SharedNameError(name, live)
        row = next(iter(known_cards), None)
    if row is None:
        raise UnlistedNameError("card", name)
    return row


def board(db: Connection, name: str) -> BoardRow:
    """Return the board `owner/number`. Raises UnlistedNameError."""
    owner, _, number = name.rpartition("/")
    row = boards.at(db, owner, int(number)) if number.isdecimal() else None
    if row is None:
        raise UnlistedNameError("board", name)
    return row


def name_of(row: CardRow) -> str:
    """Return the card's name for people: its issue, or its id while it is a draft."""
    return row.card_id if row.number is None else f"{row.repository}#{row.number}"


def find_run(db: Connection, name: str) -> RunRow:
    """Return the run. Raises UnlistedNameError."""
    row = runs.get(db, RunId(name))
    if row is None:
        raise UnlistedNameError("run", name)
    return row
