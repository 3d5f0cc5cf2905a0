"""Comments, ticked boxes and pressed buttons as events: the author's role, and the command in it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import repositories, roles
from bot.ingest import facts
from bot.state import policies, snapshots
from bot.sync import card as card_sync
from ledger.event import Event
from ledger.events.conversation import CommandGiven, CommandRefused, CommentChanged, PersonSaid
from ledger.log import event_store
from ledger.log.event_store import EventFactory, no_events
from ledger.views import cards, messages, runs
from rules.card import target_repository
from rules.chatops import parser
from rules.commands import ok
from rules.policy.model import Policy

# GitHub accepts no longer comment ("is too long (maximum is 65536 characters)").
MAX_CHARACTERS = 65_536
STARTS = ("fix", "investigate", "retry")


def comment_written(services: Services, fact: facts.CommentWritten, card: cards.CardRow) -> EventFactory:
    """Return the events of a comment: its text, and the command in it if there is one.

    A comment longer than GitHub accepts is refused with a sentence, and none of it is stored.
    """
    role = roles.role(services.hub, fact.repository, fact.author)
    if len(fact.text) > MAX_CHARACTERS:
        refusal = _too_long(fact, card, role)
        return lambda _: (refusal,)
    parsed = parser.parse(fact.text)
    slug = services.hub.bot_login.removesuffix("[bot]")  # the name that people mention
    named = parser.mentioned(fact.text, slug) if parsed is None else None
    parsed = parsed or named
    trusted = roles.may_write(role)
    base = _base(services, card, parsed, role=role, login=fact.author)
    speech = PersonSaid(
        card.card_id,
        fact.comment_id,
        fact.place,
        fact.author,
        trusted,
        fact.text,
        role,
        fact.at,
        parsed is not None,
    )
    asker = CommandAuthor(fact.author, role, fact.place, fact.comment_id, str(fact.comment_id), fact.at, base)
    edited = _edited(services, card, parsed, asker)

    def make(db: Connection) -> tuple[Event, ...]:
        if messages.knows(db, card.card_id, fact.place, fact.comment_id):
            return ()
        if parsed is None:
            return (speech,)
        policy = policies.in_force(db, card.board_id)
        return (speech, *edited(db), command_event(policy, card, parsed, asker))

    return make


def _edited(
    services: Services,
    card: cards.CardRow,
    parsed: parser.Parsed | parser.Mistyped | None,
    asker: "CommandAuthor",
) -> EventFactory:
    """Read the current text of the comment that an `ok` releases: its author saw that text, and the delivery
    about an edit may be late or lost.
    """
    if not isinstance(parsed, parser.Parsed) or parsed.command != "ok" or card.repository is None:
        return no_events
    with event_store.reading(services.engine) as db:
        given = command_event(policies.in_force(db, card.board_id), card, parsed, asker)
        held = snapshots.held(db, card.card_id)
    meant = ok.meant_by(given, held) if isinstance(given, CommandGiven) else []
    if len(meant) != 1:
        return no_events  # none is released
    (shown,) = meant
    where = card.repository if shown.place == "issue" else card.pull_repository or card.repository
    now = github_issues.comment_now(services.hub, where, shown.place, shown.comment_id, card.pull_number or 0)
    if now == shown.text:
        return no_events
    how = messages.DELETED if now is None else "edited"
    return comment_altered(
        facts.CommentAltered(card.repository, card.number or 0, shown.comment_id, shown.place, how, ""), card
    )


def _base(services: Services, card: cards.CardRow, parsed: object, *, role: str, login: str) -> str:
    """Return the default branch's commit for an approval, after a sync of the card.

    A command that starts a run also syncs a card whose text chooses the repository. Other commands read
    nothing. Raises CardBusyError.
    """
    if not isinstance(parsed, parser.Parsed) or card.repository is None:
        return ""
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, card.board_id)
        run = runs.get(db, card.run_id) if card.run_id else None
    starts = parsed.command in STARTS and target_repository.is_shared(policy, card.repository)
    if parsed.command != "approve" and not starts:
        return ""
    if not isinstance(parser.permit(policy, parsed, role=role, login=login), parser.Permitted):
        return ""  # a person without the right must cost no call
    card_sync.require_synced(services, card.card_id)
    return "" if starts else repositories.head(services.hub, run.repository if run else card.repository)


def comment_altered(fact: facts.CommentAltered, card: cards.CardRow) -> EventFactory:
    """Return the event of an edited or deleted comment, once for each of these."""

    def make(db: Connection) -> tuple[Event, ...]:
        known = messages.has_changed(db, card.card_id, fact.place, fact.comment_id)
        if known in (fact.how, messages.DELETED):
            return ()
        return (CommentChanged(card.card_id, fact.comment_id, fact.place, fact.how, fact.by),)

    return make


def _too_long(fact: facts.CommentWritten, card: cards.CardRow, role: str) -> CommandRefused:
    because = (
        f"This comment has {len(fact.text):,} characters, and at most {MAX_CHARACTERS:,} are read:"
        " nothing of it was taken. Please say it shorter, or in several comments."
    )
    return CommandRefused(card.card_id, "", fact.author, role, because, fact.place, fact.comment_id)


def ticked(services: Services, fact: facts.BoxTicked, card: cards.CardRow) -> list[EventFactory]:
    """Return the events of ticked boxes: the person who ticked one gave its command."""
    role = roles.role(services.hub, fact.repository, fact.by)

    def maker(box: str) -> EventFactory:
        parsed = parser.of_box(box)
        base = _base(services, card, parsed, role=role, login=fact.by)
        asker = CommandAuthor(fact.by, role, fact.place, fact.comment_id, f"box:{box}", fact.at, base)

        def make(db: Connection) -> tuple[Event, ...]:
            if parsed is None:
                return ()
            return (command_event(policies.in_force(db, card.board_id), card, parsed, asker),)

        return make

    return [maker(box) for box in fact.boxes]


def pressed(services: Services, fact: facts.ButtonPressed, card: cards.CardRow) -> list[EventFactory]:
    """Return the events of a pressed button: the person gave its command. Nothing for an unknown button."""
    parsed = parser.of_button(fact.button)
    if parsed is None:
        return []
    role = roles.role(services.hub, fact.repository, fact.by)
    base = _base(services, card, parsed, role=role, login=fact.by)
    asker = CommandAuthor(fact.by, role, "check", fact.check_id, f"button:{fact.button}", None, base)
    return [lambda db: (command_event(policies.in_force(db, card.board_id), card, parsed, asker),)]


@dataclass(frozen=True, slots=True)
class CommandAuthor:
    """The author of a command, their role, and its place.

    `source` is the comment's id, `box:<name>` or `button:<name>`; `at` is None if GitHub does not tell
    it. `base` is the default branch's commit, if the command depends on it.
    """

    login: str
    role: str
    place: str
    comment_id: int
    source: str
    at: datetime | None
    base: str = ""


def command_event(
    policy: Policy, card: cards.CardRow, parsed: parser.Parsed | parser.Mistyped, asker: CommandAuthor
) -> Event:
    """Return the command as given, or as refused with the reason for the person."""
    if isinstance(parsed, parser.Mistyped):
        word, because = parsed.word, parsed.because
    else:
        answer = parser.permit(policy, parsed, role=asker.role, login=asker.login)
        if isinstance(answer, parser.Permitted):
            return CommandGiven(
                card.card_id,
                parsed.command,
                parsed.argument,
                asker.login,
                asker.role,
                asker.place,
                asker.comment_id,
                asker.source,
                asker.at,
                asker.base,
            )
        word, because = parsed.command, answer.because
    if asker.source.startswith(("box:", "button:")):
        word = asker.source  # the rules restore the box, and add no reaction to Cardinal's own comment
    return CommandRefused(card.card_id, word, asker.login, asker.role, because, asker.place, asker.comment_id)
