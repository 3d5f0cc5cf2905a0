"""A reply through a front-end: it does what a comment would, and its writer is told what it did not.

The words go through the parser of comments; the role is GitHub's of this moment, as for any command.
"""

import hashlib
import logging
from datetime import timedelta

from bot.bootstrap import Services
from bot.frontends import PersonReply
from bot.github.api import roles
from bot.github.errors import NotFoundError
from bot.outbox import handlers
from bot.scheduler.wakeups import wake
from bot.system import people
from bot.system.people import NotAdmittedError
from bot.web.acting import record
from bot.web.acting.form import NUMBER_BITS
from bot.web.acting.record import MistypedCommandError, SentCommand
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queue.acted_requests import ReusedKeyError
from ledger.rows.cards import CardRow
from ledger.states import Door
from ledger.views import cards, runs
from rules.chatops import parser
from rules.intents.outbound import NoticeKind, NoticeLine, SendNotice

log = logging.getLogger(__name__)
KEPT = timedelta(
    days=60
)  # a message that comes again within that time acts once; front-ends refuse older ones
OF_RUN = frozenset(
    {"budget", "cancel", "pause", "redirect", "resume", "retry"}
)  # for no later run of the card
NOT_DONE = "Nothing was done with your reply: "
GONE = "its card has left the boards that Cardinal serves."
NO_READER = "your GitHub account cannot read the card's repository."
REUSED = "another message with the same id came before. Write a new one."


def take_reply(services: Services, reply: PersonReply, via: str) -> str:
    """Do what the reply says, once; return what the person is told, empty where there is nothing to say.

    Raises CardBusyError, GithubError, PeopleListError.
    """
    with event_store.reading(services.engine) as db:
        run = runs.get(db, RunId(reply.topic.partition("-")[0]))
        card = cards.get(db, run.card_id) if run else None
    on_board = services.if_served(card.board_id) if card else None
    if card is None or on_board is None:
        log.warning("a reply is about no card here via=%s login=%s topic=%s", via, reply.login, reply.topic)
        return ""
    said = f"{NOT_DONE}{reply.refusal}." if reply.refusal else _give(on_board, card, reply, via)
    outcome = "said_back" if said else "done"
    log.info("took a reply via=%s login=%s topic=%s outcome=%s", via, reply.login, reply.topic, outcome)
    if said:
        line = NoticeLine(NoticeKind.QUESTION, card.card_id, text=said)
        key = f"notice:{reply.login}:reply:{reply.key}"
        with event_store.writing(services.engine) as db:
            notice = SendNotice(CardId(card.board_id), key, reply.login, (line,))
            handlers.put_intent(db, notice, on_board.now())
        wake(services)
    return said


def _give(services: Services, card: CardRow, reply: PersonReply, via: str) -> str:
    """Record the command, or answer; return what is said back."""
    slug = services.hub.bot_login.removesuffix("[bot]")
    parsed = parser.parse(reply.words) or parser.parse_mention(reply.words, slug)
    if isinstance(parsed, parser.Mistyped):
        return parsed.because
    name, text = (parsed.command, parsed.argument) if parsed else ("", reply.words)
    if record.readable_card(services, card.card_id, name) is None:
        return NOT_DONE + GONE
    try:
        user_id, login = roles.account_of(services.hub, reply.login)
    except NotFoundError:
        return NOT_DONE + NO_READER
    role = roles.role_of_account(services.hub, card.repository or "", login, user_id)
    if role == roles.NONE:
        return NOT_DONE + NO_READER
    until = services.now() + KEPT
    sent = SentCommand(
        door=Door.REPLY,
        name=_about(name, reply.topic),
        text=text,
        number=int.from_bytes(hashlib.sha256(reply.key.encode()).digest()) % 2**NUMBER_BITS + 1,
        key=reply.key,
        kept_until=until,
        via=via,
    )
    try:
        visit = people.admit_person(services.config, user_id=user_id, login=login, until=until)
        seq, _ = record.record_command(services, card, visit, sent, role=role)
    except MistypedCommandError as error:
        return error.because
    except NotAdmittedError as error:
        return f"{NOT_DONE}{error}."
    except ReusedKeyError:
        return NOT_DONE + REUSED
    outcome = record.outcome(services, visit, seq, Door.REPLY)
    return "" if outcome is None or outcome.is_usual else outcome.text


def _about(command: str, topic: str) -> str:
    """Return the command with what it is about, as an offer has it; plain words answer, or are a comment."""
    run, _, part = topic.partition("-")
    if part.startswith("q") and command in ("", "answer"):
        return f"answer:{topic}"
    if part.startswith("p") and command == "approve":
        return f"approve:{run}:{part[1:]}"
    return f"{command}:{run}" if command in OF_RUN else command or "comment"
