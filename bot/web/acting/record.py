"""A command from outside GitHub, recorded once: the role is GitHub's of this moment."""

import json
import secrets
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bot.bootstrap import Services
from bot.github.api import roles
from bot.ingest import commands
from bot.ingest.commands import CommandAuthor
from bot.outbox import handlers
from bot.reactor import reactor
from bot.scheduler.wakeups import wake
from bot.sync.card import CardBusyError
from bot.system.clock import ledger_clock
from bot.web.acting.form import NUMBER_BITS, ActForm
from ledger.errors import CardinalError
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.ids import CardId
from ledger.log import event_store
from ledger.log.event_store import EventFactory
from ledger.model.metadata import Metadata
from ledger.queue import acted_requests, outbox
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.states import Door
from ledger.views import cards
from rules.chatops import parser, replies
from rules.intents.outbound import Say
from rules.policy.roles import Role
from rules.snapshot import is_outside

OPERATOR = "the operator"  # no account at GitHub has a space in its name
OF_ARCHIVED = ("archive", "unarchive")  # the first again, from whoever missed the answer
PATIENCE_S, POLL_S = 5.0, 0.1  # two who act at once read one card: the second goes on when the first has
RECORDED = "/cardinal {command} is recorded. The card shows the outcome."


class MistypedCommandError(CardinalError):
    """The command cannot be given like that, so it is not recorded; `because` names a right one."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because.replace("`", ""))


@dataclass(frozen=True, slots=True)
class SentCommand:
    """A command that somebody sent through `door`: its `name` is as in an offer, `number` its own.

    With the same `key` and request it is done once until `kept_until`; `via` names the program's token.
    `metadata` is only for a command that takes some.
    """

    door: str
    name: str
    text: str
    number: int
    key: str
    kept_until: datetime
    via: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)

    @classmethod
    def of_form(cls, sent: ActForm, sign_in: SignIn) -> "SentCommand":
        """Return the command of a page's form: it dies with the sign-in that it was made for."""
        return cls(
            door=Door.PAGE,
            name=sent.name,
            text=sent.text,
            number=sent.number,
            key=sent.token,
            kept_until=sign_in.until,
        )


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """A card's comment about a command. `is_done`: as in `Say`; `is_usual`: nothing is to be said of it."""

    text: str
    refused: bool
    is_done: bool = True
    is_usual: bool = False


def well_formed(name: str, text: str) -> parser.Parsed:
    """Return the command. Raises MistypedCommandError."""
    parsed = parser.of_form(name, text)
    if isinstance(parsed, parser.Mistyped):
        raise MistypedCommandError(parsed.because)
    return parsed


def readable_card(services: Services, card_id: CardId, command: str) -> tuple[Services, CardRow] | None:
    """Return an issue's card, and the services for its board; None unless Cardinal serves that, and its
    owner has the say over the issue. One that left the board obeys few commands.
    """
    with event_store.reading(services.engine) as db:
        card = cards.get(db, card_id)
    if (
        card is None
        or (card.archived and command not in OF_ARCHIVED)
        or card.repository is None
        or card.number is None
    ):
        return None
    on_board = services.if_served(card.board_id)
    if on_board is None or is_outside(card.repository, on_board.board.owner):
        return None
    return on_board, card


def record_of_operator(
    services: Services,
    card: CardRow,
    name: str,
    text: str,
    *,
    account: str,
    metadata: Metadata | None = None,
) -> int:
    """Record a command of whoever runs Cardinal, who has every role; return the number of its event.

    GitHub is not asked who that is: whoever can write to the ledger can do everything anyway.
    Raises CardBusyError, GithubError.
    """
    until = services.now() + timedelta(minutes=1)
    number, key = secrets.randbelow(2**NUMBER_BITS) + 1, secrets.token_hex(12)
    sent = SentCommand(
        door=Door.CLI,
        name=name,
        text=text,
        number=number,
        key=key,
        kept_until=until,
        via=account,
        metadata=metadata or {},
    )
    seq, _ = record_command(services, card, SignIn(0, OPERATOR, until), sent, role=Role.ADMIN)
    return seq


def find_recorded(services: Services, card: CardRow, sent: SentCommand) -> int | None:
    """Return the number of the event that an earlier request with that key made; None for the first one.

    Raises ReusedKeyError.
    """
    now = ledger_clock(services.engine, services.clock)()
    with event_store.reading(services.engine) as db:
        return acted_requests.find(db, sent.key, _encode_sent(card, sent), now)


def record_command(
    services: Services, card: CardRow, visit: SignIn, sent: SentCommand, *, role: str = ""
) -> tuple[int, bool]:
    """Record the command, as given or refused, and let the rules answer. GitHub says the `role` unless given.

    Returns the number of its event, and whether this request made it: one that comes again gets the same.
    Raises CardBusyError, GithubError, MistypedCommandError, ReusedKeyError.
    """
    # Other requests of this process may read the card, too; and its hosts share the ledger's clock.
    clock = ledger_clock(services.engine, services.clock)
    services = replace(services, name=f"{sent.door}-{sent.number}", clock=clock)
    before = find_recorded(services, card, sent)
    if before is not None:
        return before, False
    parsed = replace(well_formed(sent.name, sent.text), metadata=sent.metadata)
    role = role or roles.role_of_account(services.hub, card.repository or "", visit.login, visit.user_id)
    now = services.now()
    author = CommandAuthor(
        login=visit.login,
        role=role,
        place=sent.door,
        comment_id=-sent.number,
        source=f"{sent.door}:{sent.name}",
        at=now,
        user_id=visit.user_id,
        via=sent.via,
    )
    make = _give(services, card, parsed, author)
    with event_store.writing(services.engine) as db:
        before = acted_requests.find(db, sent.key, _encode_sent(card, sent), now)
        if before is not None:
            return before, False
        (fresh,) = event_store.append(db, *make(db), at=now)
        acted_requests.keep(
            db, sent.key, _encode_sent(card, sent), fresh.seq, now=now, ttl=sent.kept_until - now
        )
        reactor.advance(db, now=now)
    wake(services)
    return fresh.seq, True


def _encode_sent(card: CardRow, sent: SentCommand) -> str:
    return json.dumps((card.card_id, sent.name, sent.text, *((sent.metadata,) if sent.metadata else ())))


def _give(services: Services, card: CardRow, parsed: parser.Parsed, author: CommandAuthor) -> EventFactory:
    """Do as `commands.prepare_command`, but wait a little while somebody else's command has the card read.

    Raises CardBusyError, GithubError.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return commands.prepare_command(services, card, parsed, author)
        except CardBusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(POLL_S)


def outcome(services: Services, visit: SignIn, seq: int, door: str) -> CommandOutcome | None:
    """Return the outcome of the visitor's own command of that event and door; None for any other."""
    with event_store.reading(services.engine) as db:
        event = next((it.event for it in event_store.read(db, after=seq - 1, limit=1)), None)
        if not isinstance(event, CommandGiven | CommandRefused):
            return None
        if (event.user_id, event.place) != (visit.user_id, door):
            return None  # what was said on GitHub is read there, by who may still read it
        if isinstance(event, CommandRefused):
            return CommandOutcome(event.because, refused=True)
        entry = outbox.get(db, handlers.key(Say(event.card_id, replies.about(event), "")))
    answer = handlers.intent_of(entry) if entry else None
    recorded = RECORDED.format(command=event.command)
    if not isinstance(answer, Say):
        return CommandOutcome(recorded, refused=False, is_usual=True)
    text = answer.text if door == Door.PAGE else answer.answer or recorded
    is_usual = answer.is_done and not answer.answer
    return CommandOutcome(text, refused=False, is_done=answer.is_done, is_usual=is_usual)
