"""A form recorded as the command of its name: the role is GitHub's of this moment, the form is used up."""

from dataclasses import replace

from bot.bootstrap import Services
from bot.github.api import roles
from bot.ingest import commands
from bot.ingest.commands import CommandAuthor
from bot.outbox import handlers
from bot.reactor import reactor
from bot.scheduler.wakeups import wake
from bot.system.clock import ledger_clock
from bot.web.acting.form import ActForm
from ledger.event import Recorded
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import outbox, sign_ins
from ledger.queue.sign_ins import SignIn
from ledger.views import cards
from ledger.views.cards import CardRow
from rules.chatops import parser, replies
from rules.intents.outbound import Say
from rules.snapshot import is_outside


def card_of(services: Services, card_id: CardId) -> tuple[Services, CardRow] | None:
    """Return an issue's card, and the services for its board; None unless Cardinal serves that, and its
    owner has the say over the issue.
    """
    with event_store.reading(services.engine) as db:
        card = cards.get(db, card_id)
    if card is None or card.archived or card.repository is None or card.number is None:
        return None
    on_board = services.if_served(card.board_id)
    if on_board is None or is_outside(card.repository, on_board.board.owner):
        return None
    return on_board, card


def record(services: Services, card: CardRow, visit: SignIn, form: ActForm) -> Recorded | None:
    """Record the form's command, as given or refused, and let the rules answer; None for one that was sent
    before.

    Raises CardBusyError, GithubError.
    """
    # Other requests of this process may read the card, too; and its hosts share the ledger's clock.
    clock = ledger_clock(services.engine, services.clock)
    services = replace(services, name=f"form-{form.number}", clock=clock)
    role = roles.role_of_account(services.hub, card.repository or "", visit.login, visit.user_id)
    now = services.now()
    lives_s = (visit.until - now).total_seconds()  # forms die with their sign-in
    source = f"{parser.PAGE}:{form.name}"
    author = CommandAuthor(visit.login, role, parser.PAGE, -form.number, source, now, user_id=visit.user_id)
    make = commands.give(services, card, parser.of_form(form.name, form.text), author)
    with event_store.writing(services.engine) as db:
        if not sign_ins.spend(db, form.token, now=now, ttl_s=lives_s):
            return None
        (recorded,) = event_store.append(db, *make(db), at=now)
        reactor.advance(db, now=now)
    wake(services)
    return recorded


def answer_to(services: Services, visit: SignIn, seq: int) -> str:
    """Return what the card hears about the visitor's own command of that event; empty for any other."""
    with event_store.reading(services.engine) as db:
        event = next((it.event for it in event_store.read(db, after=seq - 1, limit=1)), None)
        if not isinstance(event, CommandGiven | CommandRefused):
            return ""
        if (event.user_id, event.place) != (visit.user_id, parser.PAGE):
            return ""  # what was said on GitHub is read there, by who may still read it
        if isinstance(event, CommandRefused):
            return event.because
        entry = outbox.get(db, handlers.key(Say(event.card_id, replies.about(event), "")))
    answer = handlers.intent_of(entry) if entry and entry.payload != outbox.SPENT else None
    return (
        answer.text
        if isinstance(answer, Say)
        else f"/cardinal {event.command} is recorded: the card says what came of it."
    )
