"""Commands of the operator on this host: the same as a comment's, without GitHub and without a token."""

import getpass
import os
from collections.abc import Iterator
from pathlib import Path

import click
from sqlalchemy import Connection

from bot.bootstrap import open_services
from bot.cli import _home
from bot.cli._show import line, show
from bot.web.acting import record
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn
from rules.chatops import parser

MAX_LOOKED_AT = 200  # cards of a board or a column


class NoCardError(click.ClickException):
    """No card of the board or column can carry the command."""

    exit_code = 1


def give(target: str, word: str, text: str = "", *, column: str | None = None, as_json: bool) -> None:
    """Give the command on a card, a run's card, or for a whole board or column; print the answer.

    Exits with 1 when it is refused, or there is no card for it.
    """
    with _home.opened(), open_services(os.environ, Path.cwd()) as services:
        with event_store.reading(services.engine) as db:
            ids, scope = _cards(db, target, column)
        about = next(filter(None, (record.card_of(services, it, word) for it in ids)), None)
        if about is None:
            raise NoCardError(f"no card of {line(target)} has an issue that Cardinal serves: nothing is done")
        on_board, card = about
        words = " ".join(filter(None, (scope, text)))
        name = f"{word}:{target}"  # a command about a run is for no later one
        name = name if parser.pressed_run(f"{parser.CLI}:{name}") else word
        seq = record.record_of_operator(on_board, card, name, words, getpass.getuser())
        outcome = record.outcome(on_board, SignIn(0, record.OPERATOR, on_board.now()), seq, parser.CLI)
    assert outcome is not None  # it was recorded just now
    said = {"card": _home.name_of(card), "command": word, "refused": outcome.refused, "answer": outcome.text}
    show(said, as_json=as_json, text=lambda: (line(f"{said['card']}: {outcome.text}"),))
    if outcome.refused:
        raise click.exceptions.Exit(1)


def _cards(db: Connection, target: str, column: str | None) -> tuple[Iterator[CardId], str]:
    """Return the cards that may carry the command, and the word for its scope."""
    if column is None and ("/" not in target or "#" in target):
        row = _home.card(db, target) if "#" in target else _home.run(db, target)
        return iter((row.card_id,)), ""
    scopes = [CardScope(_home.board(db, target).board_id)]
    listed = lanes.newest(db, scopes, column=column, limit=MAX_LOOKED_AT)
    return iter([card.card_id for card in listed if card.number]), "board" if column is None else "column"
