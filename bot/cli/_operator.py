"""Commands of the operator on this host: the same as a comment's, without GitHub and without a token."""

import getpass
import os
import re
from pathlib import Path

import click
from sqlalchemy import Connection

from bot.bootstrap import Services, open_services
from bot.cli import CliError, _home
from bot.cli._metadata import read_metadata
from bot.cli._show import clean, json_option, show
from bot.reactor import reactor
from bot.scheduler.wakeups import wake
from bot.state import policies, snapshots
from bot.system.clock import ledger_clock
from bot.web.acting import record
from bot.web.acting.record import CommandOutcome
from ledger.event import Event
from ledger.events.board import HaltLifted
from ledger.events.run import BESIDE, CHECK
from ledger.ids import CardId
from ledger.log import event_store
from ledger.model.column_names import same_column
from ledger.model.metadata import Metadata
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Door, RunState
from ledger.views import cards, halts, runs
from ledger.views.boards import BoardRow
from rules.chatops import parser
from rules.policy.roles import Role
from rules.registry import COMMANDS
from rules.runs import kill_switch
from rules.text import alternatives

HELP = """{about}

It is `{usage}`, given by the operator, as `cardinal command` gives it. TARGET is a run or
OWNER/REPOSITORY#NUMBER.

\b
Example:
  cardinal {example}"""
METADATA = "A fact for programs and the cards that depend on it. VALUE may be JSON; repeat for more."
TAKES = {"none": None, "text": True, "optional": False, "optional text": False}  # whether a text is required
MAX_LOOKED_AT = 200  # cards of a board or a column
DONE = {"pause": "The {scope} is stopped.", "resume": "The {scope} is resumed."}
DONE_BEFORE = {"pause": "The {scope} is already stopped.", "resume": "The {scope} is not stopped."}


class NothingDoneError(click.ClickException):
    """No run or card can carry the command, or it was refused."""

    exit_code = 1


def give(
    target: str,
    word: str,
    text: str = "",
    *,
    column: str | None = None,
    of_living: bool = False,
    metadata: Metadata | None = None,
    as_json: bool,
) -> None:
    """Give the command on a card, a run's card, or for a whole board or column; print the answer.

    Exits with 1 when it is refused or does nothing, or there is no card for it; with `of_living` also when no
    run is alive that it could be for.
    """
    record.well_formed(word, text)  # a wrong one is told to nobody on the card
    with _home.ledger_opened(), open_services(os.environ, Path.cwd()) as services:
        if column is None and ("/" not in target or "#" in target):
            with event_store.reading(services.engine) as db:
                card_id, run = _find_named(db, target)
                if of_living:
                    _require_living(db, target, word, card_id, run)
                elif run is not None and COMMANDS.load(word).NAMES_RUN:
                    text = f"{run.run_id} {text}".rstrip()
                elif run is not None:
                    _require_newest(db, run, word)
            about = record.readable_card(services, card_id, word)
            if about is None:
                raise NothingDoneError(
                    f"nothing was done: {clean(target)} has no issue on a board Cardinal serves"
                )
            name, outcome = _give(about, target, word, text, metadata)
        elif word not in DONE or text:
            raise CliError(f"a board accepts only pause and resume: give {clean(word)} to one of its cards")
        else:
            name, outcome = _give_to_all(services, target, word, column)
    done = outcome.is_done and not outcome.refused
    said = {"card": name, "command": word, "refused": outcome.refused, "done": done, "answer": outcome.text}
    lines = [clean(it) for it in re.split(r"\n+", f"{name or target}: {outcome.text}")]
    if not done and not as_json:
        raise NothingDoneError("\n".join(lines))
    show(said, as_json=as_json, text=lambda: lines)
    if away := _home.absence():
        click.echo(away, err=True)
    if not done:
        raise click.exceptions.Exit(1)


def _find_named(db: Connection, target: str) -> tuple[CardId, RunRow | None]:
    """Return the card of that name or id, or the run of that name with its card. Raises as they do."""
    if "#" in target or cards.get(db, CardId(target)) is not None:
        return _home.find_card(db, target).card_id, None
    run = _home.find_run(db, target)
    return run.card_id, run


def _require_newest(db: Connection, run: RunRow, word: str) -> None:
    """Raise NothingDoneError where the command would be about a later run of the card."""
    later = next((row.run_id for row in runs.of_card(db, run.card_id) if row.kind not in BESIDE), run.run_id)
    if later != run.run_id and not _names_run(word, run.run_id):
        raise NothingDoneError(
            f"nothing was done: {later} superseded {run.run_id}; give the command to {later}"
        )


def _names_run(word: str, target: str) -> bool:
    """Tell whether the recorded command says which run it is about."""
    return bool(parser.run_of_button(f"{Door.CLI}:{word}:{target}"))


def _require_living(db: Connection, target: str, word: str, card_id: CardId, run: RunRow | None) -> None:
    """Raise NothingDoneError for a run that has ended or only checks, or a card without one to cancel."""
    snapshot = snapshots.of_card(db, card_id)
    live, check = (snapshot.live_run, snapshot.live_check) if snapshot else (None, None)
    if run and run.state is RunState.ENDED:
        later = f"; {live.run_id} is running now" if live else ""
        raise NothingDoneError(f"nothing was done: {clean(target)} has ended{later}")
    if run and run.kind == CHECK:
        remedy = "cancel its card instead, while no other run is active there"
        raise NothingDoneError(f"nothing was done: {clean(target)} only checks a commit; {remedy}")
    if word == "cancel" and not live and not check:
        raise NothingDoneError(f"nothing was done: {clean(target)} has no active run")


def _give(
    about: tuple[Services, CardRow], target: str, word: str, text: str, metadata: Metadata | None = None
) -> tuple[str, CommandOutcome]:
    """Give the command on the card, by the services of its board; return the card's name, and the outcome."""
    on_board, card = about
    name = f"{word}:{target}" if _names_run(word, target) else word  # one about a run is for no later one
    seq = record.record_of_operator(on_board, card, name, text, account=getpass.getuser(), metadata=metadata)
    outcome = record.outcome(on_board, SignIn(0, record.OPERATOR, on_board.now()), seq, Door.CLI)
    assert outcome is not None  # it was recorded just now
    return _home.name_of(card), outcome


def _give_to_all(
    services: Services, target: str, word: str, column: str | None
) -> tuple[str, CommandOutcome]:
    """Give the command for a board or column, on one of its cards where it has an issue."""
    with event_store.reading(services.engine) as db:
        board = _home.board(db, target)
        column = column if column is None else board_column(board, column)
        listed = lanes.newest(db, [CardScope(board.board_id)], column=column, limit=MAX_LOOKED_AT)
    scope = "board" if column is None else "column"
    issues = (record.readable_card(services, card.card_id, word) for card in listed if card.number)
    if about := next(filter(None, issues), None):
        return _give(about, target, word, scope)
    on_board = services.if_served(board.board_id)
    if on_board is None:
        raise NothingDoneError(f"nothing was done: Cardinal does not serve {clean(target)}")
    return "", _switch(on_board, board, word, scope, column)


def board_column(board: BoardRow, wanted: str) -> str:
    """Return the column's name as the board has it. Raises CliError."""
    names = [column.name for column in board.columns]
    alike = [wanted] if wanted in names else [name for name in names if same_column(name, wanted)]
    if len(alike) != 1:
        which = alternatives(alike or names)
        raise CliError(clean(f"{board.address}: {wanted} does not name exactly one column; choose {which}"))
    return alike[0]


def _switch(services: Services, board: BoardRow, word: str, scope: str, column: str | None) -> CommandOutcome:
    """Stop a board or column, or let it go on, where no card can tell of it: it holds for later ones."""
    now = ledger_clock(services.engine, services.clock)()
    with event_store.writing(services.engine) as db:
        policy = policies.in_force(db, board.board_id)
        allowed = parser.permit(policy, parser.Parsed(word, scope), role=Role.ADMIN, login=record.OPERATOR)
        if isinstance(allowed, parser.RefusedCommand):
            return CommandOutcome(allowed.because, refused=True)
        stops, halt = snapshots.board_stops(db, board.board_id), halts.of_board(db, board.board_id)
        about = (board.board_id, scope, board.board_id if column is None else column, record.OPERATOR)
        events: list[Event | None] = [kill_switch.switch(stops, *about, on=word == "pause")]
        if halt is not None and word == "resume" and column is None:
            events.append(HaltLifted(board.board_id, halt.cause, record.OPERATOR))
        done = list(filter(None, events))
        reactor.append_and_react(db, *done, now=now)
    wake(services)
    return CommandOutcome((DONE if done else DONE_BEFORE)[word].format(scope=scope), refused=False)


def verb(name: str) -> click.Command:
    """Return the command that gives the slash command of that name."""
    slash_command = COMMANDS.load(name)
    about = " ".join((slash_command.__doc__ or "").split())
    help_text = HELP.format(
        about=about, usage=slash_command.USAGE, example=example(name, slash_command.USAGE)
    )

    # An option of the slash command is a part of its text.
    passing = {"ignore_unknown_options": True}

    @click.command(
        name, help=help_text, short_help=re.split("[,:;.]", about)[0] + ".", context_settings=passing
    )
    @click.argument("target")
    @json_option
    def command(
        target: str, as_json: bool, text: tuple[str, ...] = (), metadata: tuple[str, ...] = ()
    ) -> None:
        give(target, name, " ".join(text), metadata=read_metadata(metadata), as_json=as_json)

    required = TAKES[slash_command.TAKES]
    if required is not None:
        command.params.insert(1, click.Argument(["text"], nargs=-1, required=required))
    if slash_command.TAKES_METADATA:
        command.params.insert(
            2, click.Option(["--metadata"], multiple=True, metavar="NAME=VALUE", help=METADATA)
        )
    return command


def example(name: str, usage: str) -> str:
    """Return the usage with the shortest of its texts, in capitals, for a card."""
    text = usage.removeprefix(f"/cardinal {name}").partition("[")[0].partition("|")[0].strip()
    words = text.replace(" ", "-").replace("<", "").replace(">", "").upper()
    return f"{name} acme/shop#4 {words}".rstrip()
