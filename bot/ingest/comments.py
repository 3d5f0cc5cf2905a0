"""Comments, ticked boxes and pressed buttons as events: the author's role, and the command in it."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import issues as github_issues
from bot.github.api import roles
from bot.ingest import commands, facts
from bot.ingest.commands import CommandAuthor, command_event
from bot.outbox import handlers
from bot.state import policies
from ledger.event import Event
from ledger.events.conversation import CommandGiven, CommandRefused, CommentChanged, PersonSaid
from ledger.log import event_store
from ledger.log.event_store import EventFactory, no_events
from ledger.rows.cards import CardRow
from ledger.views import messages, plans, questions, remotes
from rules.chatops import parser
from rules.commands import ok
from rules.intents.outbound import Intent, PostPlan, PostQuestion

# GitHub accepts no longer comment ("is too long (maximum is 65536 characters)").
MAX_CHARACTERS = 65_536


def comment_written(services: Services, fact: facts.CommentWritten, card: CardRow) -> EventFactory:
    """Return the events of a comment: its text, and the command in it if there is one.

    A comment longer than GitHub accepts is refused with a sentence, and none of it is stored.
    """
    role = roles.role(services.hub, fact.repository, fact.author)
    said_at = _said_at(services, fact, card)
    if len(fact.text) > MAX_CHARACTERS:
        refusal = _too_long(fact, card, role)
        return lambda _: (refusal,)
    parsed = parser.parse(fact.text)
    slug = services.hub.bot_login.removesuffix("[bot]")  # the name that people mention
    named = parser.parse_mention(fact.text, slug) if parsed is None else None
    parsed = parsed or named
    source = str(fact.comment_id)
    author = CommandAuthor(
        login=fact.author,
        role=role,
        place=fact.place,
        comment_id=fact.comment_id,
        source=source,
        at=said_at,
        user_id=fact.author_id,
    )
    given = commands.prepare_command(services, card, parsed, author) if parsed else no_events
    speech = PersonSaid(
        card_id=card.card_id,
        comment_id=fact.comment_id,
        place=fact.place,
        author=fact.author,
        trusted=roles.may_write(role),
        text=fact.text,
        role=role,
        said_at=said_at,
        command=parsed is not None,
    )
    edited = _read_current(services, card, parsed, author)

    def make(db: Connection) -> tuple[Event, ...]:
        if messages.knows(db, card.card_id, fact.place, fact.comment_id):
            return ()
        return (speech, *edited(db), *given(db))

    return make


def _said_at(services: Services, fact: facts.CommentWritten | facts.BoxTicked, card: CardRow) -> datetime:
    """Return the ledger's time of these words, or more.

    They are later than each question and plan whose comment GitHub counts before theirs, or that has the box,
    whatever time a clock told then that was wrong.
    """
    now = services.now()
    said_at = services.hub.latest(fact.at, now)
    if fact.place == "review" or not card.run_id:  # GitHub counts comments on lines apart
        return said_at
    with event_store.reading(services.engine) as db:
        asked: list[tuple[Intent, datetime]] = [
            (PostQuestion(card.card_id, it.run_id, it.question_id), it.asked_at)
            for it in questions.open_of_run(db, card.run_id)
        ]
        plan = plans.newest(db, card.run_id)
        if plan is not None:
            asked.append((PostPlan(card.card_id, plan.run_id, plan.revision), plan.at))
        for intent, at in asked:
            posted = remotes.get(db, handlers.key(intent))
            if posted is not None and 0 < int(posted.remote_id or 0) <= fact.comment_id:
                said_at = max(said_at, min(at, now))
    return said_at


def _read_current(
    services: Services,
    card: CardRow,
    parsed: parser.Parsed | parser.Mistyped | None,
    author: CommandAuthor,
) -> EventFactory:
    """Read the current text of the comment that an `ok` releases: its author saw that text, and the delivery
    about an edit may be late or lost.
    """
    if not isinstance(parsed, parser.Parsed) or parsed.command != "ok" or card.repository is None:
        return no_events
    with event_store.reading(services.engine) as db:
        given = command_event(policies.in_force(db, card.board_id), card, parsed, author)
        held_messages = messages.list_held_messages(db, card.card_id)
    meant = ok.find_meant(given, held_messages, services.now()) if isinstance(given, CommandGiven) else []
    if len(meant) != 1:
        return no_events  # none is released
    (shown,) = meant
    where = card.repository if shown.place == "issue" else card.pull_repository or card.repository
    now = github_issues.comment_now(services.hub, where, shown.place, shown.comment_id, card.pull_number or 0)
    if now == shown.text:
        return no_events
    how = messages.DELETED if now is None else "edited"
    return comment_altered(
        services,
        facts.CommentAltered(
            repository=card.repository,
            number=card.number or 0,
            comment_id=shown.comment_id,
            place=shown.place,
            how=how,
            by="",
        ),
        card,
    )


def comment_altered(services: Services | None, fact: facts.CommentAltered, card: CardRow) -> EventFactory:
    """Return the event of an edited or deleted comment, once for each of these, and the answer to each edit
    that makes a command. `services` are the board's, None where nobody serves it.
    """
    answers: tuple[Event, ...] = ()
    now = fact.new_text
    mistyped = parser.parse_edit(fact.old_text or "", now[:MAX_CHARACTERS]) if now is not None else None
    if mistyped and services:
        role = roles.role(services.hub, fact.repository, fact.by)
        because, word = mistyped.because, mistyped.word
        where = (fact.place, fact.comment_id, fact.by_id)
        answers = (CommandRefused(card.card_id, word, fact.by, role, because, *where),)

    def make(db: Connection) -> tuple[Event, ...]:
        known = messages.find_change(db, card.card_id, fact.place, fact.comment_id)
        if known in (fact.how, messages.DELETED):
            return answers
        return (CommentChanged(card.card_id, fact.comment_id, fact.place, fact.how, fact.by), *answers)

    return make


def _too_long(fact: facts.CommentWritten, card: CardRow, role: str) -> CommandRefused:
    because = (
        f"This comment has {len(fact.text):,} characters, and at most {MAX_CHARACTERS:,} are read:"
        " nothing of it was taken. Please say it shorter, or in several comments."
    )
    return CommandRefused(
        card_id=card.card_id,
        command="",
        by=fact.author,
        role=role,
        because=because,
        place=fact.place,
        comment_id=fact.comment_id,
        user_id=fact.author_id,
    )


def resolve_ticks(services: Services, fact: facts.BoxTicked, card: CardRow) -> list[EventFactory]:
    """Return the events of ticked boxes: the person who ticked one gave its command."""
    role = roles.role(services.hub, fact.repository, fact.by)
    author = CommandAuthor(
        login=fact.by,
        role=role,
        place=fact.place,
        comment_id=fact.comment_id,
        source="",
        at=_said_at(services, fact, card),
        user_id=fact.by_id,
    )
    boxes = ((box, parser.of_box(box)) for box in fact.boxes)
    return [
        commands.prepare_command(services, card, parsed, replace(author, source=f"box:{box}"))
        for box, parsed in boxes
        if parsed is not None
    ]


def events_of_press(services: Services, fact: facts.ButtonPressed, card: CardRow) -> list[EventFactory]:
    """Return the events of a pressed button: the person gave its command. Nothing for an unknown button."""
    parsed = parser.of_button(fact.button)
    if parsed is None:
        return []
    role, source = roles.role(services.hub, fact.repository, fact.by), f"button:{fact.button}"
    author = CommandAuthor(
        login=fact.by,
        role=role,
        place="check",
        comment_id=fact.check_id,
        source=source,
        at=None,
        user_id=fact.by_id,
    )
    return [commands.prepare_command(services, card, parsed, author)]
