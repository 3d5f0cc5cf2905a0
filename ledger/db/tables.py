"""The tables that are not folded from events: log, inbox, outbox, leases, hosts and the like."""

from enum import StrEnum

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Table, Text, UniqueConstraint

from ledger.db.column_types import EnumText, Moment, Prose, Serial, Texts


class ExaminationSubject(StrEnum):
    """Of an examination: the host alone, or all that findings can be about."""

    HOST = "host"
    INSTALLATION = "installation"


class EditionState(StrEnum):
    """Of an edition: folded beside the live one, live, or live before another took over."""

    FOLDING = "folding"
    LIVE = "live"
    PAST = "past"


CORE = MetaData()  # made by ledger/migrations
VIEWS = MetaData()  # made by ledger.lifecycle.beside; its keys are their names without digests
BOUND = "bound"  # what keeps a table from growing for ever, for `docs/reference/parts.md`
VIEW_PREFIX = "view_"  # what carries it can be dropped at any time: it is folded from the events again

events = Table(
    "events",
    CORE,
    Column("seq", Serial, primary_key=True, autoincrement=False),
    Column("stream", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("digest", Text, nullable=False),
    UniqueConstraint("stream", "version"),
    info={BOUND: "nothing: the log is the truth, and never changed"},
)

inbox = Table(
    "inbox",
    CORE,
    Column("delivery_id", Text, primary_key=True),
    Column("event", Prose, nullable=False),
    Column("action", Prose, nullable=False),
    Column("payload", Text, nullable=False),
    Column("received_at", Moment, nullable=False),
    Column("state", Text, nullable=False),  # waiting, claimed, done or quarantined
    Column("attempts", Integer, nullable=False),
    Column("due_at", Moment, nullable=False),  # while claimed: when the claim runs out
    Column("error", Prose, nullable=False),
    Column("settled_at", Moment),
    info={BOUND: "deliveries that are done stay 10 days, quarantined ones 90"},
)

outbox = Table(
    "outbox",
    CORE,
    Column("entry_id", Serial, primary_key=True),
    Column("key", Prose, nullable=False),
    Column("lane", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("card_id", Prose, nullable=False),
    Column("payload", Prose, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("ordered", Boolean, nullable=False),
    Column("coalesce", Boolean, nullable=False),
    Column("due_at", Moment, nullable=False),  # while claimed: when the claim runs out
    Column("state", Text, nullable=False),  # pending or claimed
    Column("attempts", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("holder", Text, nullable=False),
    Column("error", Prose, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("sending", Boolean, nullable=False),  # since a publisher sent what nobody can look for
    info={BOUND: "entries leave once they are carried out or given up, which is an event"},
)

leases = Table(
    "leases",
    CORE,
    Column("name", Prose, primary_key=True),
    Column("holder", Text, nullable=False),  # empty: released
    Column("generation", Integer, nullable=False),
    Column("until", Moment, nullable=False),
    info={BOUND: "they go 10 days after their end; that of a run once it has ended, too"},
)

cursors = Table(
    "cursors",
    CORE,
    Column("reader", Text, primary_key=True),
    Column("position", Serial, nullable=False),
    info={BOUND: "one for each reader of the log"},
)

refresh_requests = Table(
    "refresh_requests",
    CORE,
    Column("card_id", Prose, primary_key=True),
    Column("board_id", Prose, nullable=False),
    Column("requested", Integer, nullable=False),
    Column("served", Integer, nullable=False),
    Column("requested_at", Moment, nullable=False),
    Column("moves", Prose, nullable=False, server_default=""),  # moves that deliveries report, as JSON
    Column("recorded_at", Moment),  # up to when moves are events; both by GitHub's clock
    info={BOUND: "one for each card"},
)

change_reports = Table(
    "change_reports",
    CORE,
    Column("card_id", Prose, primary_key=True),
    Column("sender", Prose, primary_key=True),
    Column("about", Text, primary_key=True),
    Column("value", Prose, primary_key=True),
    Column("at", Moment, nullable=False),
    info={BOUND: "changes that deliveries tell of, until the card is read; 10 days at most"},
)

hosts = Table(
    "hosts",
    CORE,
    Column("name", Text, primary_key=True),
    Column("seen_at", Moment, nullable=False),  # by the database's clock
    Column("slots", Integer, nullable=False),
    Column("labels", Texts, nullable=False),
    Column("version", Text, nullable=False),
    Column("drained", Boolean, nullable=False),
    info={BOUND: "those without a heartbeat go after 90 days, unless they are drained"},
)

examinations = Table(
    "examinations",
    CORE,
    Column("host", Text, primary_key=True),
    Column("subject", EnumText(ExaminationSubject), primary_key=True),
    Column("examiner", Text, nullable=False),
    Column("at", Moment, nullable=False),  # by the database's clock
    Column("findings", Prose, nullable=False),  # as JSON
    info={BOUND: "two for each host, 90 days at most"},
)

sign_ins = Table(
    "sign_ins",
    CORE,
    Column("token_digest", Text, primary_key=True),  # of the token in the browser's cookie, which is not kept
    Column("user_id", BigInteger, nullable=False),
    Column("login", Prose, nullable=False),
    Column("until", Moment, nullable=False),
    info={BOUND: "20 browsers of a person, until the sign-in ends"},
)

spent_states = Table(
    "spent_states",
    CORE,
    Column("state_digest", Text, primary_key=True),
    Column("until", Moment, nullable=False),  # afterwards nobody would take it any more
    info={BOUND: "until the form or the sign-in would be refused anyway"},
)

api_tokens = Table(
    "api_tokens",
    CORE,
    Column("token_id", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),  # of the token, which is not kept
    Column("name", Prose, nullable=False),
    Column("login", Prose, nullable=False),
    Column("user_id", BigInteger, nullable=False),
    Column("scopes", Texts, nullable=False),
    Column("made_at", Moment, nullable=False),
    Column("until", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("used_at", Moment),
    Column("uses", BigInteger, nullable=False),
    info={BOUND: "50 of an account that live; they go 90 days after their end"},
)

acted_requests = Table(
    "acted_requests",
    CORE,
    Column("key_digest", Text, primary_key=True),
    Column("request_digest", Text, nullable=False),
    Column("seq", Serial, nullable=False),  # of the event that the request made
    Column("until", Moment, nullable=False),  # afterwards its key is free again
    info={BOUND: "until the idempotency key is free again"},
)

migrations = Table(
    "migrations",
    CORE,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("at", Moment, nullable=False),
    info={BOUND: "one for each change of these tables"},
)

editions = Table(
    "editions",
    CORE,
    Column("digest", Text, primary_key=True),
    Column("version", Text, nullable=False),  # of the Cardinal that has this edition
    Column("state", EnumText(EditionState), nullable=False),
    Column("tables", Texts, nullable=False),  # of its views, as the database names them
    Column("folded", Texts, nullable=False),  # views that are folded beside the live ones, up to `position`
    Column("position", Serial, nullable=False),
    Column("at", Moment, nullable=False),  # of its newest step, by the database's clock
    info={BOUND: "one for each version that had the ledger"},
)
